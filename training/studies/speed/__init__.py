"""Which settings make steps faster, measured beside each other on the real data."""
