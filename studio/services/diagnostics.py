"""What somebody who looks for the cause of a problem must know: versions, hardware, the engine, the end of the log. No Qt is loaded
for it, and no name or place of a person's runs and data stands in it."""

from __future__ import annotations

import platform
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import psutil
from pydantic import JsonValue

from studio.identity import VERSION
from studio.services.hiding import hide_places
from training.engines.kinds import look_at_this_machine
from training.engines.overview import STATES, Engine, explain_origin, look_at
from training.engines.search import Found, find_engines, identify
from training.errors import format_bytes, join_sentences
from training.system.hardware import core_count, name_processor
from training.system.interpreter import is_frozen
from training.system.resources import find_checkout
from training.system.untrusted import escape_unprintable

_LOG_LINES = 60
_LONGEST_LINE = 500
_MEMORY = 10**6  # bytes; the other numbers are smaller
_UNKNOWN = "unknown"  # nobody looked at the engine since it changed; it may have trained all the same
_PACKAGES = ("PySide6-Essentials", "pyqtgraph", "numpy", "pydantic", "polars", "SQLAlchemy", "torch", "torchvision")


def collect_facts(python: str) -> dict[str, JsonValue]:
    """Versions, hardware, and the engine whose interpreter is ``python`` ("" for none), from what is known; nothing is started."""
    machine = look_at_this_machine()
    return {
        "trainwright": VERSION,
        "installed": "package" if is_frozen() else "checkout" if find_checkout() else "wheel",
        "python": platform.python_version(),
        "platform": platform.platform(),
        "processor": name_processor(),
        "cores": core_count(),
        "memory": psutil.virtual_memory().total,
        "nvidia": machine.nvidia.driver or machine.nvidia.device,
        "amd": machine.amd,
        "apple": machine.apple,
        "packages": _find_packages(),
        "engine": _dump_engine(python),
    }


def _find_packages() -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # of an engine in a window's environment, or of all in a frozen one
            continue
    if "PySide6-Essentials" not in found and find_spec("PySide6") is not None:
        found["PySide6-Essentials"] = import_module("PySide6").__version__  # which loads nothing of Qt yet
    return found


def _look_at_engine(python: str) -> Engine | None:
    """As its last trial left it."""
    if not python:
        return None
    found = next((each for each in find_engines() if identify(each.python) == identify(python)), None)
    return look_at(found or Found(python, "added", ""))


def _dump_engine(python: str) -> JsonValue:
    """For programs: what there is, without its place, and without the name that a person gave it."""
    engine = _look_at_engine(python)
    if engine is None:
        return None
    told = {name: value for name, value in engine.dump().items() if name not in ("name", "python", "remedy")}
    return _hide(_drop_empty(told | {"state": told["state"] or _UNKNOWN}))


def _tell_engine(python: str) -> str:
    """The same for people."""
    engine = _look_at_engine(python)
    if engine is None:
        return "none"
    told = [explain_origin(engine.found)]
    if engine.verdict is None:
        return f"{told[0]}; its state is {_UNKNOWN}: Preferences, Engines tells it"
    told += [STATES[engine.verdict.state], engine.verdict.problem, engine.describe()]
    if engine.answer is not None and engine.answer.torchvision:
        told.append(f"torchvision {engine.answer.torchvision}")
    return hide_places(join_sentences([each for each in (*told, *engine.verdict.lacks, engine.told) if each]))


def _drop_empty(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return [_drop_empty(each) for each in value]
    if isinstance(value, dict):
        return {name: _drop_empty(each) for name, each in value.items() if each not in (None, "", [])}
    return value


def _hide(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return hide_places(value)
    if isinstance(value, list):
        return [_hide(each) for each in value]
    return {name: _hide(each) for name, each in value.items()} if isinstance(value, dict) else value


def format_facts(facts: dict[str, JsonValue]) -> str:
    """For people: a fact a line."""
    return "\n".join(f"{name}: {_format(value)}" for name, value in facts.items())


def _format(value: JsonValue) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {_format(each)}" for name, each in value.items())
    if isinstance(value, list):
        return "; ".join(map(_format, value)) or "none"
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no", None: "none"}[value]
    return format_bytes(value) if isinstance(value, int) and value >= _MEMORY else str(value)


def write_diagnostics(python: str, log: Path) -> str:
    """The facts and the end of ``log``, for a report of a problem."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LOG_LINES:]
    except OSError as error:
        lines = [f"The log cannot be read: {error.strerror}"]
    tail = [escape_unprintable(line, _LONGEST_LINE) for line in hide_places("\n".join(lines)).split("\n")]
    facts = collect_facts(python) | {"engine": _tell_engine(python)}
    return "\n".join([format_facts(facts), "", "The end of the log:", "", *tail])
