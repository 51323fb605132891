"""The samples of the dataset, page by page."""
