"""Which samples are in which fold, and the lists that leave them out of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from training.config import RunConfig, parse_config
from training.core.splits import divide_into_folds
from training.data.batching.batches import Data
from training.engine.assemble import assemble
from training.errors import InputError
from training.exclude_list import add_to_list, read_exclude_list
from training.labels.folds import find_strata, refuse_empty, refuse_few, tell_apart

By = Literal["class", "group", "time"]
_SETTING = {"group": "dataset.group_column", "time": "dataset.time_column"}


def write_folds(settings: dict[str, Any], folds: int, by: str, folder: str) -> dict[str, Any]:
    """Divide the training part of the configuration, and write for each fold ``fold-K.txt``, an exclude list of the samples that its run
    does not train on, into ``folder``. Answers by what it was divided, and the numbers of the samples that each run is to answer.

    Raises InputError where the data cannot be divided so."""
    config = parse_config(settings, "the configuration")
    with _open_divided(config, folds, by) as (data, divided):
        train, chosen, answered, missing = divided
        called = dict(zip(train.tolist(), tell_apart(data, train), strict=True))
        given = getattr(config.dataset, "exclude", None)
        listed = read_exclude_list(Path(given)) if given else {}
        Path(folder).mkdir(exist_ok=True)
        for number, left in enumerate(missing, 1):
            path = Path(folder) / f"fold-{number}.txt"
            path.unlink(missing_ok=True)
            add_to_list(path, {**listed, **dict(called[each] for each in left.tolist())})
        return {
            "by": chosen,
            "numbers": [each.tolist() for each in answered],
            "fingerprint": data.source.fingerprint,
            "samples": len(train),
        }


def try_folds(settings: dict[str, Any], folds: int, by: str) -> dict[str, Any]:
    """By what the training part would be divided; nothing is written. Raises InputError where it cannot be."""
    with _open_divided(parse_config(settings, "the configuration"), folds, by) as (_data, divided):
        return {"by": divided.by}


class Divided(NamedTuple):
    """The numbers of the training part, by what they were divided, and ``divide``'s answer."""

    train: Tensor
    by: By
    answered: list[Tensor]
    missing: list[Tensor]


@contextmanager
def _open_divided(config: RunConfig, folds: int, by: str) -> Iterator[tuple[Data, Divided]]:
    """The data of ``config``, closed in the end, and its folds."""
    session = assemble(config, lambda *_: None)
    try:
        data = session.data
        if data.source.varies:
            raise InputError("dataset.kind: its samples differ from epoch to epoch, so no fold can be left out.")
        train = data.splits["train"].cpu()
        chosen = _choose(data, by)
        refuse_few(len(train), folds + (chosen == "time"))
        yield data, Divided(train, chosen, *divide(data, train, folds, chosen, config.seed))
    finally:
        session.data.close()


def _choose(data: Data, by: str) -> By:
    source = data.source
    if by == "auto":
        return "group" if source.groups is not None else "time" if source.moments is not None else "class"
    if (by == "group" and source.groups is None) or (by == "time" and source.moments is None):
        raise InputError(f"--by {by}: the data tells no {by}s of its samples; set {_SETTING[by]}, or take --by class.")
    if by == "class" and source.groups is not None:
        raise InputError("--by class: the data has groups, which folds would tear apart; take --by group.")
    return "group" if by == "group" else "time" if by == "time" else "class"


def divide(data: Data, train: Tensor, folds: int, by: By, seed: int) -> tuple[list[Tensor], list[Tensor]]:
    """For each fold the samples (int64) of the training part ``train`` that its run answers, and those that it does not train on. By time
    these are more: all that is later, too, since the future would tell of the past; the earliest block is answered by none."""
    source = data.source
    if by == "time":
        assert source.moments is not None
        blocks = _divide_by_time(source.moments.ranks[train], folds + 1)
        answered = [train[blocks == fold] for fold in range(1, folds + 1)]
        missing = [train[blocks >= fold] for fold in range(1, folds + 1)]
    else:
        groups = source.groups[train] if by == "group" and source.groups is not None else None
        has_strata = source.target in ("class", "labels")
        targets = source.targets[train] if has_strata else torch.zeros(len(train), dtype=torch.int64)
        fold_of = divide_into_folds(find_strata(targets), folds, seed, groups)
        answered = missing = [train[fold_of == fold] for fold in range(folds)]
    for each in answered:
        refuse_empty(each, folds)
    return answered, missing


def _divide_by_time(ranks: Tensor, blocks: int) -> Tensor:
    """int64 (n,): the block of each sample, of about equal size, the earliest 0; samples of one moment are not parted."""
    _moments, places, sizes = torch.unique(ranks, return_inverse=True, return_counts=True)
    middles = torch.cumsum(sizes, 0).double() - sizes / 2.0
    of_moment = (middles * blocks / len(ranks)).to(torch.int64).clamp(max=blocks - 1)
    return of_moment[places]
