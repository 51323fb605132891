"""Asking a trained model: samples from files, rows and texts in, answers out, of a checkpoint or of an export."""
