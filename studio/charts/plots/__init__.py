"""Plots and what is drawn in them."""
