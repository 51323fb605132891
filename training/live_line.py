"""The last line of a terminal, which changes while something works; what is printed goes above it. Where the terminal is too
narrow for one line, it goes on in the next ones."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, NamedTuple, cast

from training.streams import write_error
from training.system.untrusted import escape_unprintable

if TYPE_CHECKING:
    from rich.live import Live

_GAP = "  "
_MOST_LINES = 4
"""That the changing line may take: room for all that a run says there, from 60 columns up."""


class Part(NamedTuple):
    """A few words of a line. Where there is no room for all parts, not in several lines either, those of the highest ``rank``
    are left out first."""

    text: str
    rank: int = 0


class LiveLine:
    """Writes to standard error. Where that is no terminal, or one that cannot go back in a line (``TERM=dumb``), there are lines
    only, without a control character. rich is loaded with the first line that changes."""

    def __init__(self) -> None:
        self.is_possible = sys.stderr.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
        self._live: Live | None = None

    def draw(self, parts: Sequence[Part]) -> None:
        """Replace the line; nothing where there is none."""
        if not self.is_possible:
            return
        from rich.text import Text  # late: only a terminal needs it

        if self._live is None:
            self._live = _start_live()
        lines = [escape_unprintable(line) for line in fit_parts(parts, _width())]
        self._live.update(Text("\n".join(lines), no_wrap=True, overflow="ellipsis"), refresh=True)

    def print(self, parts: Sequence[str]) -> None:
        """A line that stays; on a terminal too narrow for it, it goes on in the next ones, between two parts."""
        # Names in it may be a stranger's.
        shown = [escape_unprintable(part) for part in parts]
        text = _GAP.join(shown)
        if not self.is_possible:
            write_error(f"{text}\n")
            return
        if len(parts) > 1:
            text = "\n".join(_fold(shown, _width()))
        if self._live is None:
            write_error(f"{text}\n")
        else:
            self._live.console.print(text, soft_wrap=True, markup=False, highlight=False, emoji=False)

    def clear(self) -> None:
        """Take the line away, before others write."""
        if self._live is not None:
            self._live.stop()
            self._live = None


def fit_parts(parts: Sequence[Part], width: int) -> list[str]:
    """As many of the parts as fit into a few lines of that width, in their order, the most important before the others."""
    kept = list(parts)
    while True:
        lines = _fold([part.text for part in kept], width)
        if len(kept) == 1 or (len(lines) <= _MOST_LINES and max(map(len, lines)) <= width):
            return lines
        kept.remove(max(kept, key=lambda part: part.rank))


def _fold(parts: Sequence[str], width: int) -> list[str]:
    """The parts in lines of that width, those after the first indented."""
    lines = [parts[0]]
    for part in parts[1:]:
        if len(lines[-1]) + len(_GAP) + len(part) <= width:
            lines[-1] += _GAP + part
        else:
            lines.append(2 * _GAP + part)
    return lines


def _width() -> int:
    """Of the terminal behind standard error."""
    try:
        return int(os.environ.get("COLUMNS", "")) or 80
    except ValueError:
        pass
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except OSError:
        return 80


class _StandardError:
    """Standard error for rich: what cannot be written there costs nothing."""

    encoding = property(lambda self: sys.stderr.encoding)
    write = staticmethod(write_error)

    def flush(self) -> None:
        """``write_error`` did it."""


def _start_live() -> Live:
    """A line that changes at the end of the terminal; what is printed by its console goes above it."""
    from rich.console import Console
    from rich.live import Live

    console = Console(file=cast(IO[str], _StandardError()), force_terminal=True)
    live = Live(console=console, auto_refresh=False, transient=True, redirect_stdout=False, redirect_stderr=False)
    live.start()
    console.show_cursor(True)  # a process that is killed could not bring it back
    return live
