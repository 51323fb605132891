"""The main window: shell, navigation, preferences, crash report."""
