"""All runs: find one, look at it, go on from it."""
