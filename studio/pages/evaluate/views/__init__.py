"""What the Evaluate page shows of an evaluation, a file for each view."""
