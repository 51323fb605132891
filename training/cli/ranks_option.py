"""What ``--ranks`` takes."""

from __future__ import annotations

import argparse


def parse_count(text: str) -> int | str:
    """A number of processes, or "all"."""
    if text != "all" and (not text.isdecimal() or not 1 <= int(text) <= 1024):
        raise argparse.ArgumentTypeError(f"{text!r} is neither all nor a number of processes from 1 on")
    return text if text == "all" else int(text)
