"""Statistics of an evaluation, as pure functions of NumPy arrays: every number with its interval."""
