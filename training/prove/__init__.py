"""Whether some settings cure what a run suffers from: k steps from a checkpoint with them and without, on the same batches."""
