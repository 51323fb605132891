"""The decision boundary of a run over data in the plane: its file, and images of it."""
