"""Long lines of Python broken inside their brackets, as the formatter of this project breaks them."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator

WIDTH = 120
_OPEN, _CLOSE = "([{", ")]}"


def wrap_lines(text: str) -> str:
    """``text`` whose lines are at most WIDTH long, where a statement on one line can be broken inside brackets."""
    return "\n".join(part for line in text.split("\n") for part in _wrap(line))


def _wrap(line: str) -> Iterator[str]:
    if len(line) <= WIDTH:
        yield line
        return
    indent = line[: len(line) - len(line.lstrip())]
    tokens = _tokens(line.strip())
    if tokens is None:  # a part of something longer
        yield line
        return
    if tokens and tokens[-1].type == tokenize.COMMENT:
        yield indent + tokens[-1].string
        yield from _wrap(indent + line.strip()[: tokens[-1].start[1]].rstrip())
        return
    found = _outer_brackets(tokens)
    if found is None:
        yield line
        return
    first, last, breaks, comma = found
    code, inner = line.strip(), f"{indent}    "
    yield indent + code[:first]
    if len(inner) + last - first <= WIDTH:
        yield inner + code[first:last]
    else:
        for start, end in zip([first, *breaks], [*breaks, last], strict=True):
            yield from _wrap(f"{inner}{code[start:end].lstrip(',').strip()}{comma}")
    yield indent + code[last:]


def _tokens(code: str) -> list[tokenize.TokenInfo] | None:
    skipped = (tokenize.NEWLINE, tokenize.NL, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT)
    try:
        found = [*tokenize.generate_tokens(io.StringIO(code).readline)]
    except (tokenize.TokenError, SyntaxError):
        return None
    return [token for token in found if token.type not in skipped]


def _outer_brackets(tokens: list[tokenize.TokenInfo]) -> tuple[int, int, list[int], str] | None:
    """Where the longest outermost bracket's content begins and ends, where it can be broken, and what ends each piece; None
    without brackets."""
    depth, start, commas, loops = 0, 0, list[int](), list[int]()
    found: list[tuple[int, int, list[int], str]] = []
    for token in tokens:
        if token.string in _OPEN:
            depth += 1
            if depth == 1:
                start, commas, loops = token.end[1], [], []
        elif token.string in _CLOSE:
            depth -= 1
            if depth == 0:
                found.append((start, token.start[1], loops or commas, "," if commas and not loops else ""))
        elif depth == 1 and token.string == ",":
            commas.append(token.start[1])
        elif depth == 1 and (token.string == "for" or (token.string == "if" and loops)):
            loops.append(token.start[1])
    return max(found, key=lambda item: item[1] - item[0]) if found else None
