"""Watch and steer the run that is being trained."""
