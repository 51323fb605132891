"""Trainwright's engine: trains PyTorch models without a window.

Two shelves. Torch-free: errors, events, control, config, catalog, schedules, runs, presets; the window imports these.
Torch: everything else; only the process that trains imports it.
"""

__version__ = "0.1.0"
