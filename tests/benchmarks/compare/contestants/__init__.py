"""One module for each contestant, named as it is, with ``train(task, clock)``."""
