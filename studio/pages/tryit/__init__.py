"""The Try it page: a sample in, what the model says of it out."""
