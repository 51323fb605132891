"""Tries a command on something hostile, in this very process, and judges what a person would have seen."""

from __future__ import annotations

import hashlib
import io
import re
import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from training.cli import main

# What a terminal would obey, and what turns the direction of writing; a new line is the only exception.
OBEYED = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
LONGEST = 2100


def some_pairs(rows: Iterable[Any], columns: Iterable[Any], every: int) -> list[tuple[Any, Any]]:
    """Each ``every``-th pair of a grid, along its diagonals: all rows and all columns, each with several of the others. One reader
    stands behind them all, so that the whole grid would find no more."""
    columns = list(columns)
    return [
        (row, column)
        for number, row in enumerate(rows)
        for place, column in enumerate(columns)
        if (number + place) % every == 0
    ]


@dataclass(frozen=True)
class Outcome:
    """What one command ended with and said."""

    code: int
    out: str
    err: str

    def judge(self, *codes: int) -> None:
        """Fail unless the exit code is one of ``codes``, nothing looks like a fault of the program, the terminal is left
        alone, and a refusal is one short sentence."""
        said = self.out + self.err
        assert self.code in codes, (self.code, said[-2000:])
        assert "Traceback" not in said, said[-2000:]
        assert "unexpected fault" not in said, said[-2000:]
        assert not OBEYED.search(said), repr(OBEYED.search(said))
        if self.code == 2:
            assert self.out == "", self.out[:500]
            sentence = self.err.strip().split("\n")[-1]  # what went well until then may be told above it
            assert 20 < len(sentence) <= LONGEST, self.err[:500]
            assert sentence.rstrip().endswith((".", "?")), sentence


def attempt(*argv: str | Path) -> Outcome:
    """Run ``python -m training *argv`` here."""
    out, err = io.StringIO(), io.StringIO()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with redirect_stdout(out), redirect_stderr(err):
            try:
                code = main([str(argument) for argument in argv])
            except SystemExit as error:  # how argparse ends
                code = int(error.code or 0)
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
    return Outcome(code, out.getvalue(), err.getvalue())


@contextmanager
def guarded(root: Path) -> Iterator[Path]:
    """A folder that nothing may touch, with files worth stealing and overwriting. Yields the path of a file that must not
    come into being: every payload of the corpus tries to make it."""
    root.mkdir()
    (root / "victim.txt").write_text("precious\n", encoding="utf-8")
    (root / "victim.jsonl").write_text("{}\n", encoding="utf-8")
    (root / "runs" / "victim" / "checkpoints" / "step-00000001").mkdir(parents=True)
    (root / "runs" / "victim" / "config.toml").write_text('name = "victim"\n', encoding="utf-8")
    (root / ".writing-victim").mkdir()
    before = listing(root)
    yield root / "EXECUTED"
    assert listing(root) == before, "something outside the run was touched"


def listing(root: Path) -> dict[str, str]:
    """Every path below ``root`` with the digest of its content."""
    return {
        str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(root.rglob("*"))
    }
