"""All that was exported."""
