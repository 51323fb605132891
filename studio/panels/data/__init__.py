"""What the engine tells of the data that is chosen: the question, and the cards that show its answer."""
