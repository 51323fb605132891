"""What a curve of any length looks like at the width of a screen: extremes kept level by level, in memory and beside the series."""
