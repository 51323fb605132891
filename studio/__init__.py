"""Trainwright's window. Uses `training`'s torch-free shelf; the training itself happens in another process."""
