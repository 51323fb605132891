"""One folder per screen; pages never import each other."""
