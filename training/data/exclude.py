"""Samples that are left out because ``dataset.exclude``, a list of digests, has them."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from training.config.sections.data.dataset_section import DatasetSection, PartsSection
from training.core.splits import drop_samples
from training.data.images.images import Images
from training.data.source import ReportProgress, Source, silent
from training.errors import InputError, pluralize
from training.exclude_list import digest_entries, read_exclude_list
from training.system.untrusted import MEGABYTE

_AT_ONCE = 512
_MOST_FILES, _MOST_BYTES = 20_000, 64 * MEGABYTE  # that a preview reads

Read = Callable[[Tensor], Tensor]


def sample_digests(source: Source, indices: Tensor, read: Read | None = None) -> list[str]:
    """What an exclude list calls the samples ``indices`` (int64): 16 bytes as 32 hexadecimal digits, of the content and the target
    of each. A sample whose label is corrected is another one; so is not one whose file is renamed or moved, or that is scaled to
    another size. ``read`` gives samples in place of the source, which may have them in memory no more."""
    return list(_iterate_digests(source, indices, read or source.read))


def listed_digests(source: Source, indices: Tensor) -> list[str]:
    """``sample_digests`` of data that was listed and not read, as a preview has it. Raises InputError for a file that cannot be read."""
    if not isinstance(source, Images) or source.digests is not None:
        return sample_digests(source, indices)
    digests = []
    for number in indices.tolist():
        content = source.find_content(number)
        if not content:
            raise InputError(f"{source.name(number)} cannot be read, so nothing tells it from others.")
        digests.append(_digest(content + _describe_target(source, number)))
    return digests


def leave_out(
    source: Source,
    splits: dict[str, Tensor],
    dataset: DatasetSection,
    copy: Path | None = None,
    report_progress: ReportProgress = silent,
    listed: Mapping[str, str] | None = None,
) -> dict[str, Tensor]:
    """``splits`` without the samples on the list that ``dataset`` names; the others stay in the parts they are in. ``copy`` is the run's
    own copy of the list, ``listed`` what was read of it already. ``source`` is told what is left out. Raises InputError for a list that is damaged, and where it leaves
    nothing of a part."""
    path = find_list(dataset, copy)
    if path is None:
        return splits
    listed = read_exclude_list(path) if listed is None else listed
    called = Path(getattr(dataset, "exclude", None) or path).name
    report_progress("looking for excluded samples", None)
    whole = True
    if isinstance(source, Images) and source.digests is None:
        found, whole = _find_in_files(source, listed)
    else:
        every = torch.arange(len(source.targets) if listed else 0)
        digests = enumerate(_iterate_digests(source, every, source.read))
        found = {number: digest for number, digest in digests if digest in listed}
    source.excluded = tuple(found)
    left = drop_samples(splits, source.excluded)
    for part, numbers in left.items():
        if not len(numbers):
            raise InputError(
                f"dataset.exclude: {called} has every {part} sample, so none is left.", "Take samples off the list."
            )
    count = sum(len(splits[part]) - len(left[part]) for part in splits)
    unknown = len(listed.keys() - set(found.values()))
    matches = f"{'matches' if unknown == 1 else 'match'} none" if whole else "will be looked for when training starts"
    source.notes += (
        f"{pluralize(count, 'sample')} left out by {called}"
        + (f"; {pluralize(unknown, 'line')} of it {matches}" if unknown else ""),
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


def _find_in_files(source: Images, listed: Mapping[str, str]) -> tuple[dict[int, str], bool]:
    """Which files of a preview, that were not read, are on the list, by their numbers, and whether those are all. Files of the names
    in the list are read, and then all as long as a file on it, unless that takes too long."""
    found: dict[int, str] = {}
    seen: set[int] = set()

    def look(numbers: Iterable[int]) -> None:
        for number in numbers:
            seen.add(number)
            digest = _digest(source.find_content(number) + _describe_target(source, number))
            if digest in listed:
                found[number] = digest

    names, sizes = set(listed.values()), source.find_sizes()
    look(number for number in range(len(sizes)) if source.name(number) in names)
    missing = listed.keys() - set(found.values())
    alike = np.arange(len(sizes)) if missing else np.flatnonzero(np.isin(sizes, sizes[np.array([*found], np.int64)]))
    others = [number for number in alike.tolist() if number not in seen]
    whole = len(others) <= _MOST_FILES and int(sizes[np.array(others, np.int64)].sum()) <= _MOST_BYTES
    if whole:
        look(others)
    return dict(sorted(found.items())), whole


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _iterate_digests(source: Source, indices: Tensor, read: Read) -> Iterator[str]:
    whole = source.tell_whole(indices)
    pieces = [whole] if whole is not None else (_contents(source, some, read) for some in indices.split(_AT_ONCE))
    for piece in pieces:
        for content in piece:
            yield _digest(content)


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
