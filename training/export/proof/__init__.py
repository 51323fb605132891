"""The proof that an exported file answers as its checkpoint: on which samples, and where it first differs."""
