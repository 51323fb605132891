"""Networks of a person's own."""
