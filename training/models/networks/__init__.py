"""The networks of our own, and their parts."""
