"""``python -m training``: the command line."""

from __future__ import annotations

import io
import sys

from training.cli import main

if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):  # a name may hold letters that the terminal's encoding lacks
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main(sys.argv[1:]))
