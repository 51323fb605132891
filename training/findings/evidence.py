"""On what a finding rests, in words: its numbers by what they count or measure. One way to say them, in the window and in the terminal."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

from training.errors import format_bytes, format_percent, pluralize
from training.events import Finding
from training.system.untrusted import escape_unprintable

_SHOWN = 4
"""Of a list so many."""
_COUNTED: Mapping[str, str] = {
    "samples": "sample", "rows": "row", "steps": "step", "files": "file", "columns": "column", "skipped": "skipped step",
    "spikes": "spike", "values": "value", "layers": "layer", "records": "record", "groups": "group", "convolutions": "convolution",
}  # fmt: skip
"""Numbers that count something, and what: "320 rows"."""
_SHARES = "share", "error"
_SAID: Mapping[str, str] = {
    "alone": "{} alone in their batch",
    "best_step": "best at step {}",
    "chance": "up to {} more by chance",
    "distinct": "{} different values",
    "first": "at first {}",
    "first_layer": "in the first layer {}",
    "first_mb": "at first {} MB",
    "gain": "improvement {}",
    "guessing": "guessing has {}",
    "half_width": "differences below {} may be chance",
    "held": "{} held-out samples compared",
    "high": "usual up to {}",
    "largest": "the largest {}",
    "last": "at the end {}",
    "last_layer": "in the last layer {}",
    "last_mb": "at last {} MB",
    "looked_at": "{} looked at",
    "low": "usual from {}",
    "lr": "learning rate {}",
    "neighbor": "with the label beside {}",
    "of": "of {} in all",
    "of_held": "of {}",
    "of_trained": "of {}",
    "own": "with their own label {}",
    "p": "by chance with a probability of {}",
    "peak": "highest learning rate {}",
    "peak_step": "highest at step {}",
    "progress": "improvement {}",
    "rates_added_up": "all learning rates together {}",
    "skill": "skill {} (0 is guessing, 1 is always right)",
    "smallest": "the smallest {}",
    "start": "at the start {}",
    "std_apart": "{} std apart",
    "times_start": "{} times the start",
    "trained": "{} training samples compared",
    "usual": "usual {}",
    "usual_lr": "usual learning rate {}",
    "waited_seconds": "waited for {} s",
    "with_weights": "with the class weights {}",
    "without": "without {}",
}
"""What a number is by its name, where that alone says too little."""
_UNSAID = ("t",)
"""What only a statistician reads."""
_YES_NO: Mapping[str, tuple[str, str]] = {"exact": ("computed again to the bit", "with the weights of later steps")}
_POINTS = ("half_width",)  # of a share: 0.05 are 5 points


def describe_evidence(finding: Finding) -> str:
    """The numbers it rests on, in a line: "skill 0.998 (0 is guessing, 1 is always right), 320 rows"; of lists the first."""
    said = ((name, value) for name, value in finding.evidence.items() if name not in _UNSAID)
    numbers = {name: value for name, value in said if not isinstance(value, str)}
    return ", ".join(_describe(name, value) for name, value in numbers.items() if value is not None)


def _describe(name: str, value: JsonValue) -> str:
    words = escape_unprintable(name.replace("_", " "), 60)
    number = not isinstance(value, bool) and isinstance(value, int | float)
    if name.endswith("_bytes") and number:
        return f"{words.removesuffix(' bytes')} {format_bytes(float(value))}"  # type: ignore[arg-type]
    if name in _COUNTED and isinstance(value, int) and not isinstance(value, bool):
        return pluralize(value, _COUNTED[name])
    if name in _POINTS and isinstance(value, float):
        return _SAID[name].format(f"{100 * value:.2g} points")
    if name in _SHARES and isinstance(value, float) and 0 <= value <= 1:
        return f"{words.removesuffix(' share')} {format_percent(value)}"
    if name in _SAID:
        return _SAID[name].format(_show(value))
    if isinstance(value, bool):
        yes, no = _YES_NO.get(name, (f"{words}: yes", f"{words}: no"))
        return yes if value else no
    return f"{words} {_show(value)}"


def _show(value: JsonValue) -> str:
    if isinstance(value, list):
        left = len(value) - _SHOWN
        shown = [*map(_show, value[:_SHOWN]), *([f"{left:,} more"] * (left > 0))]
        return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))
    if isinstance(value, bool) or not isinstance(value, int | float):
        return escape_unprintable(str(value).lower() if isinstance(value, bool) else str(value), 60)
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
