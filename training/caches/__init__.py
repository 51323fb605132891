"""What is kept to be quick and can be made again: decoded images and compiled code, who uses them, and how they are cleared."""
