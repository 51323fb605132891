"""Our engine beside the textbook loop, the bare floor and other engines, on the same work, interleaved, as ratios."""
