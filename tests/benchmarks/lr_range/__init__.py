"""The learning-rate range test against whole grids of rates; see ``__main__``."""
