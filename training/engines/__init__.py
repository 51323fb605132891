"""The Pythons that can train: found, tried, installed, chosen and removed. Free of torch, which each of them has its own of."""
