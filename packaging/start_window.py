"""What the frozen program begins with."""

import sys

from studio.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
