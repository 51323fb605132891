"""Studies as the window sees them: their list, what came of each so far, and the one that works."""
