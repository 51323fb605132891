"""What the window and its engine say to each other. No torch, no Qt."""
