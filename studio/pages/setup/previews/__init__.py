"""What the panels show beside their forms."""
