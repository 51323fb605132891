"""The Data page: all samples of the data that Setup has chosen, its classes, parts and columns."""
