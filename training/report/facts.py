"""What a report tells of a run, read from its folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from training.catalog import entry
from training.catalog.summary import summarize
from training.config.describe import describe
from training.config.diff import changes_from_defaults
from training.config.fields import Section
from training.config.run import RunConfig
from training.data_report import DataReport
from training.embedded_config import EmbeddedConfig
from training.environment import Environment
from training.predictions.reading import Evaluation, list_evaluations, read
from training.runs.folder import RunFolder
from training.runs.records.about import About, name_of, read_about
from training.runs.records.environment import newest_environment
from training.runs.records.exports import ExportNote, read_exports
from training.runs.records.forms import StatusRecord
from training.runs.records.history import History, read_history
from training.runs.workspace import find_run
from training.system.untrusted import escape_unprintable
from training.toml_text import read_config_text
from training.typed_paths import parse_path

_MOST_LETTERS = 300
_PARTS = ("test", "validation")


@dataclass(frozen=True, eq=False)
class RunFacts:
    """A run as its folder tells it; ``config`` is None where that cannot be read any more. ``evaluations`` are those shown, the chief one
    first."""

    folder: RunFolder
    record: StatusRecord
    about: About
    config: RunConfig | None
    text: str
    history: History
    environment: Environment
    evaluations: tuple[Evaluation, ...]
    exports: tuple[ExportNote, ...]

    @property
    def name(self) -> str:
        """What it is called."""
        return name_of(self.record, self.about)

    @property
    def data(self) -> DataReport | None:
        """What its data held; None of a run that has not got to it."""
        return self.history.data.report if self.history.data else None

    @property
    def fingerprint(self) -> str:
        """Of its data, "" where that is not known."""
        return self.data.fingerprint if self.data else self.environment.data or ""

    @property
    def embedded(self) -> EmbeddedConfig:
        """Its configuration as a report holds it."""
        parent = self.record.parent
        origin = f"{parent.run}/{Path(parent.checkpoint).name}" if parent and parent.checkpoint else ""
        return EmbeddedConfig.of_run(self.text, self.fingerprint, origin)

    @property
    def summary(self) -> str:
        """What is trained on what, in a line."""
        attempts = self.history.attempts
        return summarize(self.config, self.data, attempts[-1].parameters if attempts else 0) if self.config else ""

    @property
    def restarts(self) -> str:
        """Why its configuration alone does not give this very run, as a sentence; "" where it does."""
        parent = self.record.parent
        if parent is not None and parent.checkpoint:
            return (
                f"This run is a branch: it began with {Path(parent.checkpoint).name} of the run {parent.run}, which this page does not "
                "hold. It begins so again only in a workspace that has that run with this checkpoint."
            )
        changed = sorted({change for attempt in self.history.attempts for change in attempt.changes})
        if changed:
            return (
                f"It was resumed with other settings ({'; '.join(changed)}), which are not among those it began with."
            )
        return ""


def find_facts(target: str, workspace: Path) -> RunFacts:
    """Of a run, or of the folder of an evaluation, which is then the only one shown. Raises InputError for what is neither."""
    path = parse_path(target)
    if path.parent.name == "evaluations":
        evaluation = read(path)
        return read_facts(find_run(str(path.parent.parent), workspace), (evaluation,))
    return read_facts(find_run(target, workspace))


def read_facts(folder: RunFolder, evaluations: tuple[Evaluation, ...] | None = None) -> RunFacts:
    """Raises InputError where the run has no configuration or history that can be read."""
    history, record = read_history(folder.events_file), folder.status()
    return RunFacts(
        folder,
        record,
        read_about(folder),
        folder.readable_config(),
        read_config_text(folder.config_file),
        history,
        newest_environment(folder, history.attempts),
        _choose_evaluations(folder, record) if evaluations is None else evaluations,
        tuple(read_exports(folder)),
    )


def _choose_evaluations(folder: RunFolder, record: StatusRecord) -> tuple[Evaluation, ...]:
    """Of each part held back the one of the best step, else the newest."""
    best, found = record.best.step if record.best else -1, dict[str, Evaluation]()
    for evaluation in sorted(list_evaluations(folder), key=lambda each: (each.record.step == best, each.record.step)):
        if evaluation.record.complete:
            found[evaluation.record.on] = evaluation
    return tuple(found[part] for part in _PARTS if part in found)


def choose_common(runs: Sequence[RunFacts]) -> tuple[Evaluation | None, ...]:
    """Of each run the evaluation that a comparison shows: all of one part, the one that most runs have; None of a run without it."""
    parts = [each.record.on for run in runs for each in run.evaluations]
    part = max(dict.fromkeys(parts), key=parts.count, default="")
    return tuple(next((each for each in run.evaluations if each.record.on == part), None) for run in runs)


class Setting(NamedTuple):
    """A setting that is not at its default, as a person reads it."""

    title: str
    path: str
    value: str
    default: str


def find_changed_settings(config: RunConfig) -> Iterator[Setting]:
    """Each choice of a kind, and what was set to another value than that kind has by itself, as the window's *Config* has them."""
    for change in changes_from_defaults(config):
        section, _, name = change.path.rpartition(".")
        if name == "kind":
            yield Setting(
                RunConfig.model_fields[section].title or section,
                change.path,
                *(entry(section, str(kind)).title for kind in (change.new, change.old)),
            )
        elif change.path != "name":
            cls: type[Section] = type(getattr(config, section)) if section else RunConfig
            spec = next(each for each in describe(cls) if each.name == name)
            if spec.editor != "consent":
                value, default = (_show(spec.label(each), each) for each in (change.new, change.old))
                yield Setting(spec.title, change.path, value, "–" if spec.required else default)


def _show(label: str, value: object) -> str:
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple | list):
        label = ", ".join(map(str, value)) or "none"
    elif isinstance(value, float):
        label = f"{value:g}"
    return escape_unprintable(label, _MOST_LETTERS)
