"""A run of several processes: each is a rank that computes some slots of every batch, and all do the same with what comes of it."""
