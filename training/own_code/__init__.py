"""Code of a person's own: run with consent alone, kept with the run, its faults told by file and line."""
