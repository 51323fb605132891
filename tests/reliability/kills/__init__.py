"""Kill a training run again and again, resume it, and compare it to the bit with one that nobody killed."""
