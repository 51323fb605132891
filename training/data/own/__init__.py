"""A torch ``Dataset`` of the person's own: opened, drawn from and checked."""
