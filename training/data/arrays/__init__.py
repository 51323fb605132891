"""Arrays of numbers as other programs store them."""
