"""What the program knows: QtCore only, no widgets."""
