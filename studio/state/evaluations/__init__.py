"""What an evaluation wrote, sample by sample, and which of its samples are looked at."""
