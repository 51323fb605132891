"""``python -m training``: the command line."""

from __future__ import annotations

import faulthandler
import io
import sys

from training.cli import main

if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):  # a name may hold letters that the terminal's encoding lacks
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    if sys.stderr is not None:
        faulthandler.enable()  # a crash in native code leaves a stack behind
    sys.exit(main(sys.argv[1:]))
