"""The runs that judge a training part: of the same configuration, each without the samples of one fold."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from training.config import RunConfig
from training.config.files import config_data
from training.config.sections.data.dataset_section import PartsSection
from training.config.sections.objective import Distillation
from training.core.splits import divide_into_folds
from training.data.batching.batches import Data
from training.data.exclude import sample_digests
from training.engine.session import Session
from training.errors import InputError
from training.evaluation.opening import ReportProgress, make_columns, open_session, verify_checkpoint
from training.exclude_list import add_to_list, read_exclude_list
from training.labels.progress import PLAN, fold_folder
from training.predictions.suspicious import refuse_target
from training.runs.folder import RunFolder, write_first
from training.runs.relocation import config_here
from training.runs.workspace import find_checkpoint
from training.system.atomic import write_text
from training.toml_text import Toml, read_table

_VARIES = "its samples differ from epoch to epoch"


@dataclass(frozen=True)
class Fold:
    """A run, the samples that it leaves out (int64), and what an exclude list calls them."""

    run: RunFolder
    numbers: Tensor
    digests: Mapping[str, str]


@dataclass(frozen=True)
class Folds:
    """All of them; ``fingerprint`` is that of the data, ``samples`` how many the training part has."""

    each: tuple[Fold, ...]
    fingerprint: str
    samples: int
    seed: int
    notes: tuple[str, ...]


def divide(run: RunFolder, folds: int, report_progress: ReportProgress) -> Folds:
    """The folds of the run's training part, by its seed. Raises InputError where its labels cannot be judged so."""
    config = config_here(run)
    refuse_knowing(config)
    checkpoint, _ = find_checkpoint(str(run.path), run.path.parent.parent)
    session = open_session(verify_checkpoint(checkpoint), "train", report_progress)
    try:
        _refuse_others(session)
        source, train = session.data.source, session.data.splits["train"]
        groups = source.groups[train] if source.groups is not None else None
        refuse_few(len(train), folds)
        fold_of = divide_into_folds(find_strata(source.targets[train]), folds, config.seed, groups)
        report_progress("telling the samples apart", None)
        called = tell_apart(session.data, train)
        found = []
        for fold in range(folds):
            (places,) = torch.nonzero(fold_of == fold, as_tuple=True)
            refuse_empty(places, folds)
            digests = dict(called[place] for place in places.tolist())
            found.append(Fold(fold_folder(run, fold + 1), train[places], digests))
        return Folds(tuple(found), source.fingerprint, len(train), config.seed, _note_weights(config))
    finally:
        session.data.close()


def refuse_few(samples: int, folds: int) -> None:
    """Raise InputError where the training part is smaller than there are to be folds."""
    if folds > samples:
        raise InputError(f"--folds {folds}: the training part has {samples:,} samples; take fewer folds.")


def refuse_empty(places: Tensor, folds: int) -> None:
    """Raise InputError for a fold that came to nothing."""
    if not len(places):
        raise InputError(f"--folds {folds}: there are fewer groups of samples than that; take fewer folds.")


def tell_apart(data: Data, numbers: Tensor) -> list[tuple[str, str]]:
    """For each sample of the int64 ``numbers`` what an exclude list calls it, and its name."""
    digests = sample_digests(data.source, numbers, data.raw)
    return [(digest, data.source.name(number)) for digest, number in zip(digests, numbers.tolist(), strict=True)]


def prepare_runs(run: RunFolder, folds: Folds) -> None:
    """Make the runs that are not there yet. One that was made for other settings or samples is deleted, with what it learned."""
    run.labels.mkdir(exist_ok=True)
    write_text(run.labels / PLAN, json.dumps({"folds": len(folds.each), "seed": folds.seed}) + "\n")
    for number, fold in enumerate(folds.each, 1):
        config = _make_config(run, fold.run, number)
        excluded = dict(fold.digests)
        if run.exclude_file.is_file():
            excluded |= read_exclude_list(run.exclude_file)
        if not _is_same(fold.run, config, excluded):
            shutil.rmtree(fold.run.path, ignore_errors=True)
            _make(run, fold.run, config, excluded)


def _make(run: RunFolder, fold: RunFolder, config: RunConfig, excluded: Mapping[str, str]) -> None:
    """Everything before its configuration, which says that it is there."""
    fold.path.mkdir()
    for kept, copy in zip(run.code_files, fold.code_files, strict=True):
        if kept.is_file():
            shutil.copyfile(kept, copy)
    add_to_list(fold.exclude_file, excluded)
    write_first(fold, config)


def _make_config(run: RunFolder, fold: RunFolder, number: int) -> RunConfig:
    config = config_here(run).add_to_name(f"without fold {number}")
    assert isinstance(config.dataset, PartsSection)
    return config.model_copy(
        update={
            "dataset": config.dataset.model_copy(update={"exclude": str(fold.exclude_file)}),
            "loop": config.loop.model_copy(update={"keep_predictions": False}),
        }
    )


def _is_same(fold: RunFolder, config: RunConfig, excluded: Mapping[str, str]) -> bool:
    """Whether the run is there that would be made; wherever it lay when it was made."""
    try:
        known = fold.config()
        listed = read_exclude_list(fold.exclude_file)
    except InputError:
        return False
    return _settings(known) == _settings(config) and listed.keys() == excluded.keys()


def _settings(config: RunConfig) -> dict[str, Toml]:
    """All but where the list lies."""
    data: dict[str, Toml] = dict(config_data(config))
    data["dataset"] = {name: value for name, value in read_table(data, "dataset").items() if name != "exclude"}
    return data


def refuse_knowing(config: RunConfig) -> None:
    """Raise InputError where a network begins with what another one learned from these very labels, or might have."""
    if isinstance(config.objective, Distillation):
        raise InputError(
            "objective.teacher: the teacher may have trained on these labels, so no fold would be unknown to it; "
            "look for suspicious labels with a run without a teacher."
        )
    weights = getattr(config.model, "weights", None)
    if weights is not None and Path(weights).is_dir():
        raise InputError(
            "model.weights: the run that they are of may have trained on these labels, so no fold would be unknown to it; "
            "look for suspicious labels with a run that begins without them."
        )


def _note_weights(config: RunConfig) -> tuple[str, ...]:
    weights = getattr(config.model, "weights", None)
    if weights is None:
        return ()
    return (
        f"The runs begin with the weights of {weights}: it is not known whether those have trained on these labels.",
    )


def find_strata(targets: Tensor) -> Tensor:
    """int64 (n,) by which folds are alike: the classes; of labels (n, K) the rarest that a sample has, 0 for none."""
    if targets.ndim == 1:
        return targets.to(torch.int64)
    on = targets > 0
    rarity = torch.argsort(torch.argsort(on.sum(0), descending=True, stable=True)) + 1
    return (on * rarity).amax(1)


def _refuse_others(session: Session) -> None:
    dataset, source = session.config.dataset, session.data.source
    has_probabilities = "log_sum" in make_columns(session).forms
    if why := refuse_target(session.data.facts.target, has_probabilities):
        raise InputError(why)
    if not isinstance(dataset, PartsSection) or source.varies:
        raise InputError(
            f"dataset.kind: {dataset.kind} has no exclude list, so no fold can be left out ({dataset.no_exclude or _VARIES}); "
            "look at the validation part instead (--on validation)."
        )
