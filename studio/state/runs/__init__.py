"""What the window knows of runs."""
