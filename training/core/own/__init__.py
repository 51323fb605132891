"""What a person's own code is seeded with and what it returns."""
