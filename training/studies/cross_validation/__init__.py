"""k-fold cross-validation: k runs, each without one fold of the training part, which it answers afterwards.

The validation part stays what it is and chooses each run's best checkpoint, so no fold has a say in the model that is measured on it.
"""
