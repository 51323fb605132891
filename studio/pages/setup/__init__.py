"""The Setup page: the forms of a run, previews of what they mean, and Start."""
