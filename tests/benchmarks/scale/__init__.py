"""What grows with the number of steps, of runs and of classes, and what must not: time, memory and file sizes."""
