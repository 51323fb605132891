"""The sections of a configuration and their kinds."""
