"""Which batch size: the largest that fits, the smallest that is nearly as fast as any, and how large one is worth it."""
