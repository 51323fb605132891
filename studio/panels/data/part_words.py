"""What the parts of the data are called."""

PARTS = {"train": "training", "validation": "validation", "test": "test", "excluded": "excluded"}
