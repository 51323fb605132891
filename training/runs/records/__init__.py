"""What lies in a run's folder, file by file."""
