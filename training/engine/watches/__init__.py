"""What looks at each step from beside and writes down more than its loss: parts of the loss, norms of layers."""
