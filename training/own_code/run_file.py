"""A person's own Python file: run only with consent, its faults told by file, line and reason."""

from __future__ import annotations

import linecache
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from training.config.rules.signature import Signature, read_signature, signature_of
from training.config.sections.own_file import OwnFile, argument_problems, explain_distrust
from training.errors import ConfigError, InputError, Problem, describe_error
from training.own_code.torch_modes import preserve_modes
from training.runs.kept_files import find_trusted
from training.system.untrusted import escape_unprintable

_MODULE = "trainwright_user_file_"


def read_agreed(config: OwnFile, section: str, code: Path | None = None) -> Signature:
    """The file that the settings ``config`` of ``section`` name, or in its place ``code``, a run's own copy. Raises InputError for
    one that nobody agreed to run, and for arguments that it does not take."""
    path = Path(config.path)  # which messages name: a copy has the same lines
    signature = read_signature(code or path, config.purpose)
    refusal = explain_distrust(path, signature.digest, config.trusted)
    if refusal:
        raise ConfigError([Problem(f"{section}.trusted", refusal)])
    problems = list(argument_problems(config, section, signature))
    if problems:
        raise ConfigError(problems)
    return signature


def chosen_arguments(config: OwnFile, signature: Signature) -> dict[str, Any]:
    """What the person chose of the parameters of ``build``, as it is called with it."""
    arguments: dict[str, Any] = {}
    for parameter in signature.parameters:
        if parameter.name in config.arguments:
            value: Any = config.arguments[parameter.name]
            if parameter.sort == "float" and isinstance(value, int):
                value = float(value)
            value = tuple(value) if isinstance(value, list) else value
            arguments[parameter.name] = None if parameter.optional and value == "" else value
    return arguments


def text_of(config: OwnFile, section: str, code: Path | None) -> Signature:
    """The file as the run has it, for exports; raises InputError when neither copy nor file is what was trusted."""
    data = find_trusted(config, *([code] if code else []), Path(config.path))
    if data is None:
        raise InputError(
            f"{section}.path: neither the run's copy of the file nor the file itself is what was trained; bring it back."
        )
    return signature_of(data, config.path, config.purpose)


def run_file(signature: Signature, path: Path) -> ModuleType:
    """The file as a module. Its lines stay known for tracebacks, whatever becomes of the file."""
    name = f"{_MODULE}{signature.digest[:16]}"
    module = ModuleType(name)
    module.__file__ = str(path)
    linecache.cache[str(path)] = (len(signature.text), None, signature.text.splitlines(True), str(path))
    sys.modules[name] = module  # dataclasses look their module up
    with explain_faults(path, "cannot be run"):
        exec(compile(signature.text, str(path), "exec"), module.__dict__)
    return module


@contextmanager
def explain_faults(path: Path, what: str, explain: Callable[[str], str] = lambda reason: reason) -> Iterator[None]:
    """Inside, code of the file ``path`` runs. Afterwards torch's modes are put back; a fault is told as one sentence, of which
    ``explain`` may know the reason better."""
    with preserve_modes(path):
        try:
            yield
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            raise InputError(f"{tell_fault(error, path, what, explain)} Correct the file.") from error


def tell_fault(
    error: BaseException, path: Path, what: str, explain: Callable[[str], str] = lambda reason: reason
) -> str:
    """``error`` of the file ``path`` as one sentence, with the line."""
    place = place_of(error)
    line = f", line {place[1]}" if place else ""
    reason = f"{type(error).__name__}: {escape_unprintable(str(error).strip().split(chr(10))[0].rstrip('.'), 200)}"
    return f"{escape_unprintable(str(path))}{line}: {what}: {explain(reason)}."


def is_own(module: str) -> bool:
    """Whether the module of that name is a person's file."""
    return module.startswith(_MODULE)


def place_of(error: BaseException) -> tuple[str, int] | None:
    """File and line of the innermost frame of ``error`` that a person's file has; None when it came from elsewhere."""
    frames = list(traceback.walk_tb(error.__traceback__))
    for frame, line in reversed(frames):
        if is_own(str(frame.f_globals.get("__name__", ""))):
            return frame.f_code.co_filename, line
    return None


def describe_placed(error: BaseException) -> str:
    """What Python tells of ``error``, behind file and line where it came from a person's file."""
    place = place_of(error)
    told = describe_error(error)
    return f"{place[0]}, line {place[1]}: {told}" if place else told
