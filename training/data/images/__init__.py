"""Images: found, decoded, kept in the cache."""
