"""What can be done with any chart: enlarge it, take it along."""
