"""The Evaluate page: one table of samples, and everything else is a selection of it."""
