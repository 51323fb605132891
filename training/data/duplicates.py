"""Samples that are held out and trained on alike: the same ones, and images that look alike."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.core import counter_rng
from training.core.splits import drop_copies
from training.data.images.alike import find_alike, make_small
from training.data.images.images import Images
from training.data.sample_page import OpenedData
from training.data.source import ReportProgress, Source, silent
from training.errors import InputError
from training.protocol.answers import DuplicatePair, DuplicateReport

MOST_SAMPLES = 50_000
"""More of either side are not looked at unless that is asked for, but so many drawn by chance, the same each time."""
MOST_BYTES = 4 << 30
"""Nor more than this of samples in all."""
MOST_DECODED = 4_000
"""Nor more images where each has to be decoded for it."""
_LEAST_NUMBERS = 8
"""Of a vector that is blank where all are the same."""
_BY_CHANCE = 0.25
"""Rows of which so many times as many would be equal if their numbers were shuffled are equal for want of different numbers."""
_OTHER_PIXELS = 0.05
"""The share of pixels in which two masks of one image are different."""
_AT_ONCE = 512
_MOST_NAMED = 200
"""Pairs of each sort that are named."""

Read = Callable[[Tensor], Tensor]


@dataclass
class Duplicates:
    """Pairs (held out, trained on) of sample numbers, one for each sample that is held out."""

    exact: list[tuple[int, int]] = field(default_factory=list)
    near: list[tuple[int, int]] = field(default_factory=list)
    held: int = 0
    """How many held-out samples were looked at."""
    trained: int = 0
    """How many training samples."""
    partial: bool = False
    """Whether there are more than that of either."""
    by_chance: bool = False
    """Whether rows of so few different numbers are equal without being copies."""


def find_duplicates(
    source: Source,
    splits: dict[str, Tensor],
    read: Read,
    decoding: bool,
    report_progress: ReportProgress = silent,
    whole: bool = False,
    most: int = MOST_SAMPLES,
) -> Duplicates:
    """What of the held-out parts is also trained on; ``read`` gives samples as the source does, ``decoding`` says that it
    has to decode files for it. Bounded in time, and to ``most`` samples of either side, unless ``whole``: 60,000 small images take about three seconds of one core."""
    train, held, partial = _pick_compared(source, splits, decoding, whole, most)
    found = Duplicates(held=len(held), trained=len(train), partial=partial)
    if not len(held):
        return found
    digests = _digests(source)
    if digests is None:
        found.exact = _same(_all_keys(source, train, read), _all_keys(source, held, read), train, held)
    else:  # at hand for all of them
        train_all, held_all = splits["train"], _join_held(splits)
        found.exact = _same(digests[train_all], digests[held_all], train_all, held_all)
    found.exact = _without_blank(source, found.exact, read)
    looking = torch.cat([train, held])
    if source.layout != "image":
        found.by_chance = bool(found.exact) and _are_equal_by_chance(
            source, looking, read, len(found.exact) / len(held)
        )
        return found

    def take(rows: Tensor) -> NDArray[np.float16]:
        return make_small(_images(source, read(looking[rows])))

    pairs = find_alike(len(train), len(looking), take, report_progress)
    known = {number for number, _ in found.exact}
    found.near = [(int(held[row]), int(train[place])) for row, place in pairs if int(held[row]) not in known]
    return found


@dataclass(frozen=True)
class Conflicts:
    """``samples`` of ``looked`` training samples are equal to one with another answer; ``pairs`` are the first, by their numbers. ``by_chance``:
    rows of so few different numbers are equal without being copies."""

    samples: int = 0
    looked: int = 0
    by_chance: bool = False
    pairs: tuple[tuple[int, int], ...] = ()


def find_conflicts(source: Source, train: Tensor, read: Read, decoding: bool, whole: bool = False) -> Conflicts:
    """Training samples ``train`` of equal inputs and different answers, as many of them as ``find_duplicates`` compares."""
    looking, _, _ = _pick_compared(source, {"train": train}, decoding, whole)
    keys = [key.tobytes() for key in _all_keys(source, looking, read)]
    differ = _compare_answers(source, looking, read)
    first: dict[bytes, int] = {}
    several: dict[bytes, int] = {}
    for row, key in enumerate(keys):
        other = first.setdefault(key, row)
        if other != row and key not in several and differ(other, row):
            several[key] = row
    found = [(int(looking[first[key]]), int(looking[row])) for key, row in several.items()]
    left = {pair[0] for pair in _without_blank(source, found, read)}
    several = {key: row for key, row in several.items() if int(looking[first[key]]) in left}
    found = [pair for pair in found if pair[0] in left]
    samples, alike = sum(key in several for key in keys), (len(keys) - len(first)) / max(len(keys), 1)
    by_chance = bool(found) and source.layout != "image" and _are_equal_by_chance(source, looking, read, alike)
    return Conflicts(samples, len(keys), by_chance, tuple(found[:_MOST_NAMED]))


def _without_blank(source: Source, pairs: list[tuple[int, int]], read: Read) -> list[tuple[int, int]]:
    """The ``pairs`` whose first sample shows something: images of one color are those that a camera took with its lid on, and recordings of one
    number silence; no copies."""
    image = source.layout == "image"
    if not image and math.prod(source.shape) < _LEAST_NUMBERS:
        return pairs
    left: list[tuple[int, int]] = []
    for begin in range(0, len(pairs), _AT_ONCE):
        some = pairs[begin : begin + _AT_ONCE]
        samples = _images(source, read(torch.tensor([one for one, _ in some])))
        flat = samples.flatten(1, -2) if image else samples.reshape(len(samples), -1, 1)
        shows = (flat != flat[:, :1]).flatten(1).any(1).tolist()
        left += [pair for pair, is_shown in zip(some, shows, strict=True) if is_shown]
    return left


def _are_equal_by_chance(source: Source, numbers: Tensor, read: Read, share: float) -> bool:
    """Whether about as many rows would be equal to another one, were each column shuffled by itself among the rows of a class. ``share`` of
    them are."""
    told = source.in_file(numbers)
    rows = (read(numbers) if told is None else told).reshape(len(numbers), -1).numpy()
    classes = source.targets[numbers].numpy() if source.target == "class" else np.zeros(len(rows), np.int64)
    draws, shuffled = np.random.default_rng(0), rows.copy()
    for each in np.unique(classes):
        mine = np.flatnonzero(classes == each)
        for place in range(rows.shape[1]):
            shuffled[mine, place] = rows[draws.permutation(mine), place]
    alike = 1.0 - len({row.tobytes() for row in shuffled}) / len(rows)
    return alike >= _BY_CHANCE * share


def _compare_answers(source: Source, looking: Tensor, read: Read) -> Callable[[int, int], bool]:
    """Whether two rows of ``looking`` have different answers: classes, labels, numbers more than a std apart, masks of other pixels."""
    answers = source.targets[looking]
    if source.target == "mask":

        def differ(one: int, other: int) -> bool:
            masks = read(looking[[one, other]])[..., -1]
            return float((masks[0] != masks[1]).float().mean()) > _OTHER_PIXELS

        return differ
    apart = answers.float().std(0, correction=0) if source.target == "values" else torch.zeros(answers.shape[1:])
    return lambda one, other: bool(((answers[one] - answers[other]).abs() > apart).any())


def report_duplicates(data: OpenedData, report_progress: ReportProgress = silent) -> DuplicateReport:
    """The same of data that was listed and not read, for people. Raises InputError where nothing can be compared."""
    source, splits = data.source, data.splits
    if source.layout == "tokens":
        raise InputError("The passages of a text are windows of one text, so they are not compared.")
    found = find_duplicates(source, splits, source.read, source.reading == "files", report_progress)
    part_of = {number: part for part, numbers in splits.items() if part != "train" for number in numbers.tolist()}

    def differs(held: int, trained: int) -> bool:
        return not torch.equal(source.targets[held], source.targets[trained])

    pairs = [
        DuplicatePair(
            held=source.name(held),
            part=part_of[held],
            trained=source.name(trained),
            same=same,
            other_target=differs(held, trained),
        )
        for same, several in ((True, found.exact), (False, found.near))
        for held, trained in several[:_MOST_NAMED]
    ]
    return DuplicateReport(
        pairs=tuple(pairs),
        same=len(found.exact),
        alike=len(found.near),
        other_target=sum(differs(*pair) for pair in found.exact),
        compared=found.held,
        partial=found.partial,
    )


def without_duplicates(source: Source, splits: dict[str, Tensor], read: Read) -> tuple[dict[str, Tensor], int]:
    """``splits`` without the held-out samples that are also trained on, and how many those were. All samples are compared.
    Raises InputError when none would be left to validate on."""
    keys = _all_keys(source, torch.arange(len(source.targets)), read)
    parts = drop_copies([key.tobytes() for key in keys], splits)
    for part, numbers in parts.items():
        if not len(numbers):
            raise InputError(
                f"dataset.duplicates: every {part} sample is also trained on, so none is left.",
                "Hold back other samples, or set dataset.duplicates to keep.",
                {"dataset.duplicates": "keep"},
            )
    return parts, sum(len(splits[part]) - len(parts[part]) for part in parts)


def _all_keys(source: Source, numbers: Tensor, read: Read) -> NDArray[np.uint8]:
    """(n, bytes): the same for the same samples, whatever is kept in memory: the digests of files where there are any."""
    digests = _digests(source)
    if digests is not None:
        return digests[numbers]
    keys = []
    for some in numbers.split(_AT_ONCE):
        told = source.in_file(some)  # all that tells samples apart: two unknown categories are not the same
        keys.append(_keys(_images(source, read(some)) if told is None else told))
    return np.concatenate(keys)


def _digests(source: Source) -> NDArray[np.uint8] | None:
    """(N, bytes), of the files that hold the samples; None where they are not one file each."""
    if not isinstance(source, Images):
        return None
    return _file_digests(source) if source.digests is None else source.digests


def _file_digests(source: Images) -> NDArray[np.uint8] | None:
    """Of files that were listed and not read: of those as long as another one, since no other is a copy. None where that is too much."""
    sizes = source.find_sizes()
    _, which, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    looking = np.flatnonzero(counts[which] > 1)
    if int(sizes[looking].sum()) > MOST_BYTES:
        return None
    digests = np.zeros((len(sizes), 40), np.uint8)
    digests[:, 32:] = np.arange(len(sizes), dtype=np.uint64).view(np.uint8).reshape(-1, 8)  # each its own
    for number in looking.tolist():
        content = source.find_content(number)
        if content:
            digests[number, :32], digests[number, 32:] = np.frombuffer(content, np.uint8)[:32], 0
    return digests


def _images(source: Source, samples: Tensor) -> Tensor:
    """Without the mask: it is what is to be learned."""
    return samples[..., :-1].contiguous() if source.target == "mask" else samples


def _join_held(splits: dict[str, Tensor]) -> Tensor:
    return torch.cat([numbers for part, numbers in splits.items() if part != "train"] or [splits["train"][:0]])


def _pick_compared(
    source: Source, splits: dict[str, Tensor], decoding: bool, whole: bool, most: int = MOST_SAMPLES
) -> tuple[Tensor, Tensor, bool]:
    """The training and the held-out samples that are compared, and whether there are others."""
    train, held = splits["train"], _join_held(splits)
    if whole:
        return train, held, False
    size = math.prod(source.shape) * (1 if source.layout == "image" else 4)
    most = min(most, max(_AT_ONCE, MOST_BYTES // (2 * size)))
    if decoding:
        most = min(most, MOST_DECODED // 2)
    return _draw(train, most), _draw(held, most), max(len(train), len(held)) > most


def _draw(numbers: Tensor, most: int) -> Tensor:
    """``most`` of them in their order, the same each time: neighbors, which may be alike, are not all passed over."""
    if len(numbers) <= most:
        return numbers
    return numbers[counter_rng.permutation(0, 0, len(numbers), stream="looked at")[:most].sort().values]


def _keys(samples: Tensor) -> NDArray[np.uint8]:
    rows = samples.contiguous().numpy()
    digests = b"".join(hashlib.blake2b(row.tobytes(), digest_size=16).digest() for row in rows)
    return np.frombuffer(digests, np.uint8).reshape(-1, 16)


def _same(
    train_keys: NDArray[np.uint8], held_keys: NDArray[np.uint8], train: Tensor, held: Tensor
) -> list[tuple[int, int]]:
    of_key = {key.tobytes(): row for row, key in reversed(list(enumerate(train_keys)))}
    places = ((row, of_key.get(key.tobytes())) for row, key in enumerate(held_keys))
    return [(int(held[row]), int(train[place])) for row, place in places if place is not None]
