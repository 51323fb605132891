"""The settings that are being made."""
