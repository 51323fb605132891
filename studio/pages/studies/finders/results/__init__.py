"""What each kind of study has found, as charts."""
