"""A checkpoint and data, ready for a pass without training: as the run itself computes it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file

from training.checkpoints.load import load_weights
from training.config import RunConfig
from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.own_data import OwnDataSection
from training.config.sections.data.tables import TableSection
from training.data.batching.batches import Data
from training.data.preparation import prepare
from training.data.prepared import Preparing
from training.data.source import silent
from training.engine.assemble import assemble
from training.engine.device import choose_device, replace_missing_device
from training.engine.runs.environment import read_auto_settings
from training.engine.session import Session
from training.errors import CheckpointError, InputError, TrainingError
from training.facts import DataFacts
from training.objectives import MetricSet
from training.objectives.columns import Columns
from training.predictions.record import PARTS
from training.runs.folder import RunFolder
from training.runs.records.forms import Manifest
from training.runs.records.manifest import MANIFEST, digest, verify
from training.runs.records.teachers import became_of
from training.runs.relocation import config_here, require_places
from training.typed_paths import parse_path

ReportProgress = Callable[[str, float | None], None]
GIVEN = "given"
"""The part that data given as a path is."""


@dataclass(frozen=True)
class Measurable:
    """A verified checkpoint of ``run``."""

    checkpoint: Path
    run: RunFolder
    manifest: Manifest
    manifest_sha256: str
    config: RunConfig

    @property
    def name(self) -> str:
        return self.checkpoint.name


def verify_checkpoint(checkpoint: Path) -> Measurable:
    """Raises CheckpointError where ``checkpoint`` is not whole, InputError where its run cannot be found."""
    checkpoint = parse_path(checkpoint).absolute()
    manifest = verify(checkpoint)
    run = RunFolder(checkpoint.parent.parent)
    if checkpoint.parent.name != "checkpoints" or not run.config_file.is_file():
        raise InputError(
            f"{checkpoint}: lies outside a run's folder, where evaluations are kept; choose a checkpoint of a run.",
        )
    config = config_here(run)
    device, _ = replace_missing_device(config.precision.device)
    precision = config.precision.model_copy(update={"device": device})
    config = config.model_copy(update={"precision": precision, "dataset": _keep_columns(config.dataset, manifest)})
    return Measurable(checkpoint, run, manifest, digest(checkpoint / MANIFEST), config)


def _keep_columns(dataset: DatasetSection, manifest: Manifest) -> DatasetSection:
    """Naming those that the network was trained on, which no rule of a later version leaves out then."""
    if not isinstance(dataset, TableSection):
        return dataset
    with suppress(TypeError, ValueError):  # a manifest that says too little is told of where it is needed
        facts = DataFacts.from_record(manifest.data.dump())
        made = [facts.derivation(place) or facts.marked_column(place) for place in range(len(facts.columns))]
        plain = [name for name, derived in zip(facts.columns, made, strict=True) if not derived]
        return dataset.model_copy(update={"keep_columns": tuple(dict.fromkeys((*dataset.keep_columns, *plain)))})
    return dataset


def open_session(
    measurable: Measurable, part: str, report_progress: ReportProgress, kept: Preparing | None = None
) -> Session:
    """What computes the checkpoint's answers on ``part``; its data is to be closed. Raises InputError where the data is not there,
    became another or has no such part. Nothing of the run is changed."""
    config, manifest = measurable.config, measurable.manifest
    device = choose_device(config.precision.device)
    auto = read_auto_settings(measurable.run, config, device)
    if read_facts(measurable).layout == "image":
        auto = replace(auto, normalization=(tuple(manifest.data.mean), tuple(manifest.data.std)))
    if part != GIVEN:
        require_places(measurable.run, config)
    session = assemble(config, report_progress, auto, kept, loads=True, code=measurable.run)
    try:
        if part != GIVEN:
            _refuse_other_data(measurable, session, part)
        load_weights(measurable.checkpoint, session.model, averaged=True)
        session.ema = None
        session.progress = replace(session.progress, step=manifest.step, epoch=manifest.epoch)
    except BaseException:
        session.data.close()
        raise
    return session


def reopen_data(run: RunFolder, config: RunConfig, fingerprint: str, kept: Preparing | None = None) -> Data | None:
    """What the run was trained on, on the CPU, to be closed; None where it cannot be read or has another ``fingerprint`` now, and of a
    person's code, which does not run because somebody looks at a chart."""
    if isinstance(config.dataset, OwnDataSection):
        return None
    with suppress(TrainingError, OSError):
        made = (kept.prepare if kept else prepare)(config, torch.device("cpu"), silent, None, run.exclude_file)
        if made.source.fingerprint == fingerprint:
            return made
        made.close()
    return None


def make_columns(session: Session) -> Columns:
    """What is kept of each sample."""
    return Columns(session.config.objective, session.objective, session.data.facts)


def make_metrics(session: Session) -> MetricSet:
    """The run's own metrics."""
    return MetricSet(session.objective.metrics, session.objective.tables)


def is_part(on: str) -> bool:
    """Whether ``on`` names a part of the run's data, and not a path."""
    return on in PARTS


def read_facts(measurable: Measurable) -> DataFacts:
    """What the network was trained on. Raises CheckpointError where the manifest does not say so."""
    try:
        return DataFacts.from_record(measurable.manifest.data.dump())
    except (TypeError, ValueError) as error:
        raise CheckpointError(
            f"{measurable.checkpoint}: its manifest does not say enough about the data; choose another checkpoint."
        ) from error


def _refuse_other_data(measurable: Measurable, session: Session, part: str) -> None:
    data, manifest = session.data, measurable.manifest
    if manifest.data.fingerprint != data.source.fingerprint:
        raise InputError(
            f"{measurable.checkpoint}: was trained on other data than there is now; put the old files back, or give the data's path."
        )
    became = became_of(manifest.teacher, data.report.teacher)
    if became:
        raise InputError(
            f"{next(iter(became))}: {' and '.join(became.values())}, so it is another teacher than the run learned from; put the "
            "old one back."
        )
    if part not in data.splits:
        raise InputError(f"--on {part}: the run's data has no {part} part; choose {' or '.join(data.splits)}.")
    try:
        known = load_file(measurable.run.splits_file)
    except (OSError, SafetensorError):
        return  # lost: the same settings and data make the same split
    if part in known and not torch.equal(known[part], data.splits[part].cpu()):
        raise TrainingError(
            f"{measurable.run.splits_file}: the split of the data differs from the one that there is now.",
            "Evaluate with the version of Trainwright that trained the run.",
        )
