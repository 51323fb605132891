"""The standard streams, which may be closed, full, or without a reader."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import suppress
from typing import TextIO

from training.errors import InputError
from training.system.untrusted import escape_unprintable


def prepare_streams() -> None:
    """Make the streams of this process fit to be written to, whatever it was started with."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        # Closed by who started us. The next file opened would get the stream's number, and what a library prints.
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a name may hold letters that the terminal's encoding lacks


def say(text: str) -> None:
    """Tell the person ``text`` in one line on standard error, whatever it holds."""
    write_error(f"{escape_unprintable(text)}\n")


def write_error(text: str) -> None:
    """Write to standard error, of which nothing may depend: without effect once nobody reads it or it is full."""
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        _lead_nowhere(sys.stderr)


def write_out(text: str) -> None:
    """Write to standard output. Raises BrokenPipeError once its reader has gone, InputError when it takes nothing."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        _lead_nowhere(sys.stdout)
        if isinstance(error, BrokenPipeError):
            raise
        raise InputError(
            f"Standard output: {error.strerror or error}; check the file it goes to, its permissions and the disk."
        ) from error


def print_json(record: object) -> None:
    """The one JSON object that ends standard output; a reader that has gone does without it. Infinities and NaN, which JSON
    does not know, are null. Raises InputError as ``write_out``."""
    from pydantic_core import to_jsonable_python

    with suppress(BrokenPipeError):
        write_out(json.dumps(to_jsonable_python(record, inf_nan_mode="null"), allow_nan=False) + "\n")


def _lead_nowhere(stream: TextIO) -> None:
    """What could not be written stays in the stream, and the next to flush it, as the start of a worker process or the end
    of this one does, would fail over it."""
    with suppress(OSError):  # a stream without a descriptor
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
