"""The short script: a run as its reader would write it by hand, in torch's own objects. Made of the configuration alone, without torch."""
