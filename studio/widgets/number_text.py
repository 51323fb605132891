"""Numbers as text, both ways. No Qt."""

import math
import re
from typing import Literal

NumberKind = Literal["float", "int"]

_NUMBER = re.compile(r"[+-]?(\d+(_\d+)*\.?\d*|\.\d+)([eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?\d+,\d+([eE][+-]?\d+)?")


def parse_number(text: str, kind: NumberKind, *, optional: bool = False) -> tuple[float | int | None, str]:
    """(value, "") for a number, (None, "") for nothing where that is allowed, else (None, one sentence why not)."""
    text = text.strip().replace("−", "-").replace("\N{NO-BREAK SPACE}", "")
    if not text:
        return None, "" if optional else "Enter a number."
    if not _NUMBER.fullmatch(text):
        return None, _advice(text)
    value = float(text)
    if not math.isfinite(value):
        return None, f"{text} is too large; enter a smaller number."
    if kind == "float":
        return value, ""
    if value != int(value):
        return None, f"{text} is not a whole number; enter one, for example {round(value)}."
    return (int(text) if re.fullmatch(r"[+-]?[\d_]+", text) else int(value)), ""


def format_number(value: float | int) -> str:
    """The shortest text that reads back as the same number, in the notation people use: 128, 0.01, 3e-4."""
    if isinstance(value, int) or (value == int(value) and abs(value) < 1e6):
        return str(int(value))
    text = repr(float(value))
    if 1e-3 < abs(value) < 1e6 and "e" not in text:
        return text
    mantissa, exponent = f"{value:.16e}".split("e")
    for digits in range(17):
        mantissa, exponent = f"{value:.{digits}e}".split("e")
        if float(f"{mantissa}e{exponent}") == value:
            break
    return f"{mantissa}e{int(exponent)}"


def _advice(text: str) -> str:
    if _COMMA.fullmatch(text):
        return f"Write the decimal point as a point: {text.replace(',', '.')}."
    if re.fullmatch(r"[+-]?\d[\d.]*[eE][+-]?", text):
        return f"{text} is not finished; write for example 1e-3."
    return f"“{text}” is not a number; write for example 0.001, 1e-3 or 128."
