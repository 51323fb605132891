"""The choice at the top of a section: what kind of dataset, model, optimizer, ..."""
