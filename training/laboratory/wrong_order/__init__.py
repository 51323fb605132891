"""``python -m training lab --wrong-order``: eight lines of a training loop in the wrong place, beside the right one, where it does harm.

Plain loops, never a mode of the engine, which has one order only."""
