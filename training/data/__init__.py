"""From files on disk to batches on the device."""

# The names are loaded when they are asked for, because they know torch, and a process that decodes images does not load it. What
# type checkers read is beside this file, in __init__.pyi.

_WHERE = {
    "Batch": "batching.batches",
    "Data": "batching.batches",
    "MicroBatches": "batching.batches",
    "prepare": "preparation",
}

__all__ = ["Batch", "Data", "MicroBatches", "prepare"]


def __getattr__(name: str) -> object:
    if name in _WHERE:
        from importlib import import_module

        return getattr(import_module(f"{__name__}.{_WHERE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
