"""Several runs looked at together: their curves over one axis, the mean of repeats, and which settings tell them apart."""
