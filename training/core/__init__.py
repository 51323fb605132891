"""The training loop done right, as text: read it to learn the loop. An exported script is made of these very
functions.

Nothing here imports anything else of ours, so that each function can be taken along as it stands."""
