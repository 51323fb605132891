"""Curves. The only package that imports pyqtgraph, and importing this package does not: import the module you need when
its page is first shown, because pyqtgraph costs a quarter of a second."""
