"""The loop and what it runs on: device and precision, session, step, evaluation, from start to one final event."""
