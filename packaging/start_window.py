"""What the frozen program begins with."""

import sys
from types import ModuleType

from studio.__main__ import main

if __name__ == "__main__":
    # pyqtgraph loads it at once, for meshes drawn by the graphics card, which no chart here is; it is nine megabytes.
    sys.modules["PySide6.QtOpenGL"] = ModuleType("PySide6.QtOpenGL")
    sys.exit(main())
