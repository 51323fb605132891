"""Changes of a person's code, for cases in which one line is the fault."""

from __future__ import annotations


def edit(text: str, *changes: tuple[str, str]) -> str:
    """``text`` with each first of ``changes`` replaced by its second. Raises ValueError where it is not there."""
    for old, new in changes:
        if old not in text:
            raise ValueError(f"nothing to edit: {old}")
        text = text.replace(old, new)
    return text
