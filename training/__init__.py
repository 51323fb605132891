"""Trainwright's engine: trains PyTorch models without a window.

Two shelves. Torch-free: errors, events, control, config, catalog, schedules, runs, presets; the window imports these.
Torch: everything else; only the process that trains imports it.

For notebooks and scripts: ``from training import load_config, run, resume, load_model, predict`` (``training.notebook``).
"""

# What type checkers and editors read is beside this file, in __init__.pyi: an import here, even one for them alone, would let
# every module that asks for the version know torch.

__version__ = "0.1.0"

__all__ = ["load_config", "load_model", "predict", "resume", "run"]


def __getattr__(name: str) -> object:
    """Load the names for notebooks when they are asked for."""
    if name in __all__:
        from importlib import import_module

        return getattr(import_module("training.notebook"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
