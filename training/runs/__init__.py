"""A run on disk: folder layout, step series, events, checkpoint list, workspace and index. No torch here."""
