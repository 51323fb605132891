"""What a run recorded beside its curves, a card each: the decision boundary, the parts of its loss, its layers, its classes."""
