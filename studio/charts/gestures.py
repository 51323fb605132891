"""What mouse and keyboard do in charts, in words. No pyqtgraph: the window tells it, too."""

GESTURES = (
    ("Zoom into a part of a chart", "Drag"),
    ("Move the view of a chart", "Shift+Drag"),
    ("Zoom a chart at the pointer", "Ctrl+Wheel"),
    ("Zoom the values alone", "Ctrl+Shift+Wheel"),
    ("Show all of a chart", "Double click"),
    ("Show or hide a curve", "Click in legend"),
    ("Enlarge, copy or save a chart", "Right click"),
)
"""What a gesture is for, and the gesture."""

CHART_KEYS = (
    ("Zoom a chart", "+, −"),
    ("Move the view of a chart", "Shift+Left, Shift+Right"),
    ("Read a chart's values at a step", "Left, Right"),
    ("Show all of a chart", "0"),
)
"""The same by keyboard, while an entry of the chart's legend has it."""

TIP = "\n".join(f"{gesture}: {purpose[0].lower()}{purpose[1:]}" for purpose, gesture in GESTURES)
