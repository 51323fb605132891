"""What ``packaging/build.py`` is made of: a module a target, and what they share."""
