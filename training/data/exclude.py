"""Samples that are left out because ``dataset.exclude``, a list of digests, has them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from torch import Tensor

from training.config.sections.data.dataset_section import DatasetSection, PartsSection
from training.core.splits import drop_samples
from training.data.images.images import Images
from training.data.source import ReportProgress, Source, silent
from training.errors import InputError, pluralize
from training.exclude_list import digest_entries, read_exclude_list

_AT_ONCE = 512


Read = Callable[[Tensor], Tensor]


def sample_digests(source: Source, indices: Tensor, read: Read | None = None) -> list[str]:
    """What an exclude list calls the samples ``indices`` (int64): 16 bytes as 32 hexadecimal digits, of the content and the target
    of each. A sample whose label is corrected is another one; so is not one whose file is renamed or moved, or that is scaled to
    another size. ``read`` gives samples in place of the source, which may have them in memory no more."""
    return list(_iterate_digests(source, indices, read or source.read))


def leave_out(
    source: Source,
    splits: dict[str, Tensor],
    dataset: DatasetSection,
    copy: Path | None = None,
    report_progress: ReportProgress = silent,
) -> dict[str, Tensor]:
    """``splits`` without the samples on the list that ``dataset`` names; the others stay in the parts they are in. ``copy`` is the run's
    own copy of the list. ``source`` is told what is left out. Raises InputError for a list that is damaged, and where it leaves
    nothing of a part."""
    path = find_list(dataset, copy)
    if path is None:
        return splits
    listed = read_exclude_list(path)
    called = Path(getattr(dataset, "exclude", None) or path).name
    if isinstance(source, Images) and source.digests is None:
        source.notes += (f"the samples on {called} are left out when training starts",)
        return splits
    report_progress("looking for excluded samples", None)
    every = torch.arange(len(source.targets) if listed else 0)
    found = {
        number: digest for number, digest in enumerate(_iterate_digests(source, every, source.read)) if digest in listed
    }
    source.excluded = tuple(found)
    left = drop_samples(splits, source.excluded)
    for part, numbers in left.items():
        if not len(numbers):
            raise InputError(
                f"dataset.exclude: {called} has every {part} sample, so none is left.", "Take samples off the list."
            )
    count = sum(len(splits[part]) - len(left[part]) for part in splits)
    unknown = len(listed.keys() - set(found.values()))
    source.notes += (
        f"{pluralize(count, 'sample')} left out by {called}"
        + (f"; {pluralize(unknown, 'line')} of it {'matches' if unknown == 1 else 'match'} none" if unknown else ""),
    )
    if found and source.fingerprint:
        told = f"{source.fingerprint} {digest_entries(set(found.values()))}"
        source.fingerprint = hashlib.sha256(told.encode()).hexdigest()
    return left


def find_list(dataset: DatasetSection, copy: Path | None = None) -> Path | None:
    """The list that counts: the run's ``copy`` where it has one, else the file that ``dataset`` names; None for none."""
    if not isinstance(dataset, PartsSection) or dataset.exclude is None:
        return None
    return copy if copy is not None and copy.is_file() else Path(dataset.exclude)


def _iterate_digests(source: Source, indices: Tensor, read: Read) -> Iterator[str]:
    whole = source.tell_whole(indices)
    pieces = [whole] if whole is not None else (_contents(source, some, read) for some in indices.split(_AT_ONCE))
    for piece in pieces:
        for content in piece:
            yield hashlib.blake2b(content, digest_size=16).hexdigest()


def _contents(source: Source, indices: Tensor, read: Read) -> list[bytes]:
    if isinstance(source, Images) and source.digests is not None:
        contents = [digest.tobytes() for digest in source.digests[indices]]
    else:
        contents = [row.tobytes() for row in read(indices).contiguous().numpy()]
    return [
        content + _describe_target(source, number) for content, number in zip(contents, indices.tolist(), strict=True)
    ]


def _describe_target(source: Source, number: int) -> bytes:
    """By names, which stay what they are where other samples have other classes."""
    target = source.targets[number]
    if source.target == "class":
        return f" {source.classes[int(target)]}".encode()
    if source.target == "labels":
        return repr([name for name, on in zip(source.classes, target.tolist(), strict=True) if on]).encode()
    return target.numpy().tobytes()
