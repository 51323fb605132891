"""Tables: read, typed, turned into numbers."""
