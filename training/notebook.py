"""Five names for notebooks and scripts: ``from training import load_config, run, resume, load_model, predict``.

The same engine as the window's and the command line's: same configuration, seed and machine, same run to the bit. What is wrong is
raised as ``training.errors.InputError``, with the sentence that the others show. torch is loaded by the first name that needs it.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import JsonValue

from training import config as configs
from training.config import RunConfig
from training.config.files import overrides_of
from training.control import Control
from training.embedded_config import is_report, read_embedded
from training.errors import InputError, TrainingError
from training.presets import load_preset
from training.runs.cli_consent import trust_file, trust_resume, trust_run
from training.runs.export_consent import trust_export
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord
from training.runs.report_origin import find_origin
from training.runs.workspace import default_workspace, find_target, with_teacher_found
from training.streams import say
from training.toml_text import read_config_text, read_toml
from training.typed_paths import parse_path

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from training.answering.given import Sample
    from training.answering.model import UsableModel
    from training.console import Console
    from training.engine.runs.run import Hooks
    from training.protocol.model_answers import ModelAnswer

    Given: TypeAlias = str | PathLike[str] | Mapping[str, Any] | NDArray[Any]

__all__ = ["load_config", "load_model", "predict", "resume", "run"]

Changes: TypeAlias = Mapping[str, JsonValue] | Sequence[str]
"""Settings by their dotted names, {"loop.epochs": 3}, or as ``--set`` takes them, ["loop.epochs=3"]."""
Place: TypeAlias = str | PathLike[str]
_PRESET = "preset:"


def load_config(
    source: Place, changes: Changes = (), *, trust: bool = False, workspace: Place | None = None
) -> RunConfig:
    """The configuration in the TOML file ``source``, or "preset:NAME" for one that comes with the program, with ``changes``.

    ``trust`` agrees to run the Python files of your own that it names, as they are now. ``workspace`` is where a run that is named as
    a teacher is looked for. Raises InputError; a ConfigError holds every fault in its ``problems``.
    """
    name, overrides, place = fspath(source), _as_overrides(changes), _workspace(workspace)
    if name.startswith(_PRESET):
        overrides = with_teacher_found(overrides, place, Path())
        return load_preset(name.removeprefix(_PRESET), overrides, trust)
    path = parse_path(name)
    data = read_toml(read_config_text(path), name)
    overrides = with_teacher_found(overrides, place, path.parent, data)
    agreed = trust_file(path, overrides) if trust else []
    return configs.load_config(path, [*overrides, *agreed])


def run(
    config: RunConfig | Place,
    changes: Changes = (),
    *,
    workspace: Place | None = None,
    trust: bool = False,
    quiet: bool = False,
) -> StatusRecord:
    """Train ``config``, or what ``load_config`` makes of it, in a new run of ``workspace`` (by default where the window keeps its
    runs), and return the run's record: ``folder``, ``status``, ``step``, ``best``, ``metrics``.

    Interrupting the kernel stops after the step, keeps everything and returns the record, with the status "stopped"; a second time
    ends without saving. ``quiet`` leaves out the lines that tell how it goes. Raises InputError, leaving nothing behind, where the
    configuration or its data cannot be used; TrainingError, with the reason, where the run failed.
    """
    if isinstance(config, RunConfig):
        if changes:
            raise InputError(
                "changes: belong to load_config where the configuration is loaded already; give them there."
            )
        source = None
    else:
        source = None if fspath(config).startswith(_PRESET) else parse_path(fspath(config))
        config = load_config(config, changes, trust=trust, workspace=workspace)
    hooks, console = _make_hooks(quiet)
    with _interrupts_stop(hooks.control):
        record = begin_run(config, _workspace(workspace), hooks, source, _as_overrides(changes))
    return _end(record, console)


def begin_run(
    config: RunConfig, workspace: Path, hooks: Hooks, source: Path | None = None, overrides: Sequence[str] = ()
) -> StatusRecord:
    """Train ``config``, which was read from ``source`` with ``overrides``, as a new run. From a report it begins as the report's run did:
    on the same data, and of a branch with the same checkpoint. Raises InputError as ``run``."""
    from training.engine.runs.run import branch_run, start_run

    report = read_embedded(source) if source is not None and is_report(source) else None
    origin = find_origin(report, workspace) if report is not None else None
    hooks.report = None if _chooses_other_data(overrides) else report
    if origin is not None:
        return branch_run(origin, config, workspace, hooks)
    return start_run(config, workspace, hooks, source)


def resume(
    target: Place,
    changes: Changes = (),
    *,
    branch: bool = False,
    workspace: Place | None = None,
    trust: bool = False,
    quiet: bool = False,
) -> StatusRecord:
    """Go on with a run, meant by its id, name or folder, from its last checkpoint, or from the checkpoint whose folder ``target`` is;
    returns its record as ``run``.

    ``changes`` that change results, and ``branch``, make a new run of it and leave this one as it is. Raises InputError where there is
    nothing to go on with; TrainingError where the run failed.
    """
    name, place, overrides = fspath(target), _workspace(workspace), _as_overrides(changes)
    folder, _ = find_target(name, place)
    overrides = with_teacher_found(overrides, place, Path())
    if trust:
        overrides = [*overrides, *trust_resume(folder, overrides)]
    from training.engine.runs.run import resume_run

    hooks, console = _make_hooks(quiet)
    with _interrupts_stop(hooks.control):
        record = resume_run(name, place, overrides, hooks, branch)
    return _end(record, console)


def load_model(target: Place, *, workspace: Place | None = None, trust: bool = False) -> UsableModel:
    """A trained model: of a run (its best checkpoint), a checkpoint's folder, or the folder or file of an export.

    ``predict`` asks it; ``logits`` makes scores float32 (n, ...) of samples (n, *shape) as they are read, and ``network`` is the
    ``torch.nn.Module``, None of a graph. ``trust`` agrees to run the code that it brings along. Raises InputError.
    """
    from training.answering.model import find_model, open_model

    path, instead = find_model(fspath(target), _workspace(workspace))
    if instead:
        say(instead)
    if trust:
        if path.absolute().parent.name == "checkpoints":
            trust_run(RunFolder(path.absolute().parent.parent))
        else:
            trust_export(path)
    return open_model(path)


def predict(
    model: UsableModel | Place,
    samples: Given | Iterable[Given],
    *,
    strict: bool = True,
    workspace: Place | None = None,
) -> list[ModelAnswer]:
    """What ``model``, or the one that ``load_model`` makes of it, says of each sample, in their order.

    A sample is a path (an image file, a folder of them, a table with a row for each sample, a text file), a row as a mapping of its
    columns, or an array in the shape that the model takes, uint8 (channels, height, width) of an image; an array with one side more
    holds many. Raises InputError, with its name, for a sample that cannot be answered; unless ``strict`` its answer says why in
    ``refused`` and holds nothing else, and the others are answered.
    """
    from training.answering.answers import answer_samples

    opened = load_model(model, workspace=workspace) if isinstance(model, str | PathLike) else model
    is_one = isinstance(samples, str | PathLike | Mapping) or hasattr(samples, "__array__")
    many = [samples] if is_one or not isinstance(samples, Iterable) else samples
    answers = []
    for answer in answer_samples(opened, _read(opened, many)):  # type: ignore[arg-type]
        if strict and answer.refused:
            raise InputError(
                f"{answer.name}: {answer.refused}.", "Correct or leave out this sample, or pass strict=False."
            )
        answers.append(answer)
    return answers


# ------------------------------------------------------------------------------------------------------------ helpers


def _as_overrides(changes: Changes) -> list[str]:
    if isinstance(changes, Mapping):
        return overrides_of(changes)
    return [changes] if isinstance(changes, str) else list(changes)


def _chooses_other_data(overrides: Iterable[str]) -> bool:
    """Whether ``--set`` may ask for other samples (the seed draws made ones); another path alone is where the same ones lie here."""
    names = (override.partition("=")[0].strip() for override in overrides)
    return any(name == "seed" or (name.startswith("dataset.") and not name.endswith("path")) for name in names)


def _workspace(given: Place | None) -> Path:
    return default_workspace() if given is None else parse_path(fspath(given)).absolute()


def _make_hooks(quiet: bool) -> tuple[Hooks, Console | None]:
    """What hears of a run, and the lines that it says on standard error, as the command line does."""
    from training.console import Console
    from training.doctor.quick import warn_before_start
    from training.doctor.rival import judge_beside_simple
    from training.engine.runs.run import Hooks

    if quiet:
        return Hooks(judge=warn_before_start, compare=judge_beside_simple), None
    console = Console()
    hooks = Hooks(
        console.print_plan,
        console.keep_folder,
        console.event,
        console.draw_progress,
        judge=warn_before_start,
        compare=judge_beside_simple,
    )
    return hooks, console


def _end(record: StatusRecord, console: Console | None) -> StatusRecord:
    if console is not None:
        console.print_end(record)
    if record.status == "failed":
        raise TrainingError(record.reason or "The run failed.", record.advice or "", record.fix)
    return record


@contextmanager
def _interrupts_stop(control: Control) -> Iterator[None]:
    """The first Ctrl+C, or interrupt of the kernel, stops after the step; a second one is Python's own. Signals reach the main thread
    alone, so another one changes nothing."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)

    def stop(_number: int, _frame: Any) -> None:
        control.request_stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    signal.signal(signal.SIGINT, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _read(model: UsableModel, given: Iterable[Given]) -> Iterator[Sample]:
    import numpy as np

    from training.answering.rows import read_row
    from training.answering.samples import read_samples

    for number, each in enumerate(given):
        if isinstance(each, str | PathLike):
            yield from read_samples(model, [fspath(each)])
        elif isinstance(each, Mapping):
            takes = model.record.input
            if takes.layout != "vector":
                raise InputError(
                    f"row {number + 1}: the model takes no single rows; give a file, or an array of the shape {takes.shape}."
                )
            yield read_row(model, each, f"row {number + 1}")
        else:
            yield from _read_array(model, np.asarray(each), number)


def _read_array(model: UsableModel, values: NDArray[Any], number: int) -> Iterator[Sample]:
    """One sample, or as many as the first side has. Raises InputError for another shape or kind of numbers."""
    import numpy as np

    from training.answering.given import Sample

    takes, shape = model.record.input, model.record.input.shape
    wanted: np.dtype[Any] = np.dtype(takes.dtype)
    one, many = values.shape == shape, values.ndim == len(shape) + 1 and values.shape[1:] == shape
    if not one and not many:
        raise InputError(
            f"samples: an array of the shape {values.shape} was given, and the model takes {shape}, or (n, {', '.join(map(str, shape))})."
        )
    if not np.can_cast(values.dtype, wanted, "same_kind"):
        raise InputError(
            f"samples: an array of {values.dtype} was given, and the model takes {wanted}; convert it first."
        )
    for place, each in enumerate(values if many else values[np.newaxis]):
        yield Sample(f"sample {(place if many else number) + 1}", np.ascontiguousarray(each, wanted))
