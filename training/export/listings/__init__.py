"""What the exported script lists of a run, part by part."""
