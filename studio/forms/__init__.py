"""Configuration class -> widgets, purely from the descriptions in `training.config`: no code here names a setting."""
