"""What goes together, what follows from what, and what a resumed run takes over."""
