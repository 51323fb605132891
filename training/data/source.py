"""What every kind of data hands over: a ``Source``."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.data.batching.resident import Notice
from training.data.batching.workers import Reader
from training.data.images.cache_room import CacheWish
from training.data.moments import Moments
from training.data_report import Skipped
from training.facts import Layout, TableForm, Target

Reading = Literal["memory", "cache", "files"]
Batch = Tensor | tuple[Tensor, Tensor]
"""Samples as ``Source.read`` gives them, and their targets where they come with them."""
ReportProgress = Callable[[str, float | None], None]
ClassCounts = tuple[tuple[str, int], ...]
"""Classes, each with the number of its samples."""


@dataclass(kw_only=True, eq=False)
class Source:
    """Samples that can be read by number; in memory, each of a class, where a kind of data does not say otherwise. Sent to worker
    processes by pickle, so decoded samples stay behind."""

    layout: Layout
    target: Target = "class"
    classes: tuple[str, ...]
    """Names of the classes, the labels or the values to predict, or the vocabulary's tokens."""
    shape: tuple[int, ...] = ()
    """A sample as the model sees it: (C, H, W) of images, (F,) of vectors, (T,) of tokens, (L, F) of lists."""
    targets: Tensor
    """A row for each of the N samples, as ``facts.Target`` says: int64 (N,) classes, float32 (N, K) labels or values,
    float32 (N, L) ranks. Masks and tokens come with the samples: (N, 0) then."""
    columns: tuple[str, ...] = ()
    """Names of the features, "" or none where they have no name."""
    categories: tuple[int, ...] = ()
    codes: tuple[tuple[str, ...], ...] = ()
    ranges: tuple[tuple[float, float] | None, ...] = ()
    """Both as in ``DataFacts``."""
    gaps: bool = False
    """Whether NaN, which stands for a missing number, is known to be among the inputs."""
    target_classes: tuple[tuple[str, ...], ...] = ()
    """As in ``DataFacts``, of "tasks"."""
    table: TableForm | None = None
    """As in ``DataFacts``."""
    vocabulary: str = ""
    merges: tuple[str, ...] = ()
    """As ``DataFacts.vocabulary`` and ``merges``, of text."""
    groups: Tensor | None = None
    """int64 (N,): samples of the same number belong together, and no split parts them."""
    moments: Moments | None = None
    """When each is from, where the newest are to be held out."""
    in_order: bool = False
    """Whether neighbors are alike, as in a text: the last samples are held out then, not any."""
    parts: dict[str, Tensor]
    """int64 sample numbers of the parts the data came with: "train" always, "validation" and "test" when given."""
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences for the person about how the data is used."""
    fingerprint: str
    """SHA-256 of the content: the same data has the same, changed data another. "" if the files were not checked."""
    class_choices: ClassCounts = ()
    """All classes that the data has, with the number of samples of each, where ``dataset.classes`` left some out of ``classes``."""
    excluded: tuple[int, ...] = ()
    """The numbers of the samples that an exclude list leaves out of all parts."""
    supply: str = ""
    """How the samples were come by, a clause for the person; "" when there is nothing to say."""

    varies: bool = False
    """Whether training samples differ from epoch to epoch, with their targets: they are asked for by what ``at_epoch`` makes of
    their numbers, and never kept."""
    runs_own_code: bool = False
    """Whether reading runs a person's code, which draws from the process's own generators: never beside the training."""
    as_given: bool = False
    """Whether inputs are to stay as they are, instead of being normalized by their own mean and std."""
    float_pixels: bool = False
    """Whether images are float32, from 0 to 255, instead of uint8."""

    @property
    def batch_reader(self) -> Reader[Batch]:
        """What reads batches for training and judging, in worker processes, too."""
        return self

    def at_epoch(self, indices: Tensor, epoch: int | None) -> Tensor:
        """What ``read`` and ``batch_reader`` are to be asked for, to have the samples ``indices`` as the ``epoch`` shows them; None: as
        they are judged by. Without ``varies`` the same."""
        return indices

    @property
    def reading(self) -> Reading:
        """ "files" when ``read`` opens and decodes a file for each sample, "cache" when they lie decoded on the disk."""
        return "memory"

    def read(self, indices: Tensor) -> Tensor:
        """The samples of the int64 (n,) ``indices``, on the CPU.

        Images are uint8 (n, H, W, C), as files hold them: whoever wants channels first, views them so; a mask is one
        channel more behind them (class number, ``IGNORED_PIXEL`` where there is none), so that whatever moves the image
        moves it. Vectors are float32 (n, F) and lists (n, L, F), NaN where a number is missing. Tokens are whole numbers
        (n, T + 1), the last being the one that follows. Raises TrainingError naming the file when a sample can no longer be read.
        """
        raise NotImplementedError

    def read_all(self) -> Tensor:
        """All samples in order, owned by the caller; the source forgets what it held in memory."""
        return self.read(torch.arange(len(self.targets)))

    def in_file(self, indices: Tensor) -> Tensor | None:
        """The samples by all that their file says of them, for comparing: what ``fit`` made unknown to the model is told
        apart. None where ``read`` tells as much."""
        return None

    def tell_whole(self, indices: Tensor) -> list[bytes] | None:
        """All that the data says of each of the samples, its target, too, whatever of that is looked at. None where ``read`` and
        ``targets`` tell as much."""
        return None

    def name(self, index: int) -> str:
        """What a person calls the sample: its file, or "sample 1234"."""
        return f"sample {index}"

    def fit(self, train: Tensor) -> Self:
        """The same samples once it is known which of them train (int64, sorted): what is learned from samples (a vocabulary,
        the codes of a category) is learned from those. Itself where nothing is."""
        return self

    def take_notices(self) -> list[Notice]:
        """What happened while samples were read, since the last call; the same may come again and again."""
        return []


def number_parts(counts: Mapping[str, int]) -> dict[str, Tensor]:
    """The sample numbers of parts of so many samples, one behind the other."""
    return dict(zip(counts, torch.arange(sum(counts.values())).split(list(counts.values())), strict=True))


def gather_rows(parts: Sequence[Any], indices: NDArray[np.int64]) -> NDArray[Any]:
    """A copy of the rows of those numbers, counted through all ``parts``: arrays, or what is indexed like one."""
    made = np.empty((len(indices), *parts[0].shape[1:]), np.result_type(*(part.dtype for part in parts)))
    start = 0
    for part in parts:
        here = (indices >= start) & (indices < start + len(part))
        made[here] = part[indices[here] - start]
        start += len(part)
    return made


def silent(text: str, fraction: float | None) -> None:
    """A progress report nobody listens to."""


def throttle(report_progress: ReportProgress, seconds: float = 0.1, told: float = -math.inf) -> ReportProgress:
    """``report_progress``, at most so often since ``told``, and of what is whole."""

    def report(text: str, fraction: float | None) -> None:
        nonlocal told
        if time.monotonic() - told > seconds or fraction == 1.0:
            told = time.monotonic()
            report_progress(text, fraction)

    return report


@dataclass(frozen=True)
class Opening:
    """How a source is to be opened.

    ``check`` decodes every file once and leaves out the broken ones; without it files are only listed (a preview).
    ``keep(size)`` says whether samples of ``size`` bytes in all may stay in memory while they are decoded anyway.
    ``workers`` is the number of decoding processes; None lets the work decide. ``cache`` is where decoded images are kept
    from run to run, None for nowhere. ``tell`` hears of what the person should know. ``seed`` is the run's, and ``code`` its copy of a
    file that the person wrote, to be read in that file's place. A folder of images
    must have ``least_classes``: to be asked about, one will do.
    """

    check: bool = True
    seed: int = 0
    code: Path | None = None
    least_classes: int = 2
    keep: Callable[[int], bool] = lambda size: False
    workers: int | None = None
    cache: CacheWish | None = None
    tell: Callable[[Notice], None] = lambda notice: None
    report_progress: ReportProgress = silent
