"""Process-wide services without widgets: settings, log files, crash reports, notifications, keeping awake."""
