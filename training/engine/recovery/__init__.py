"""What goes wrong while a run trains, and how it goes on."""
