"""What every kind of data hands over: a ``Source``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, Self

from torch import Tensor

from training.data.cache_room import CacheWish
from training.data.resident import Notice
from training.facts import Layout, Target

if TYPE_CHECKING:  # which lists folders, as a source does
    from training.data.gpu_decode import GpuDecoder

Reading = Literal["memory", "cache", "files"]
ReportProgress = Callable[[str, float | None], None]


@dataclass(frozen=True)
class Skipped:
    """Something in the data that was left out; ``path`` is relative to the dataset, ``reason`` is for the person."""

    path: str
    reason: str


class Source(Protocol):
    """Samples that can be read by number. Sent to worker processes by pickle, so decoded samples stay behind."""

    layout: Layout
    target: Target
    classes: tuple[str, ...]
    """Names of the classes, the labels or the values to predict, or the vocabulary's tokens."""
    shape: tuple[int, ...]
    """A sample as the model sees it: (C, H, W) of pictures, (F,) of vectors, (T,) of tokens, (L, F) of lists."""
    targets: Tensor
    """A row for each of the N samples, as ``facts.Target`` says: int64 (N,) classes, float32 (N, K) labels or values,
    float32 (N, L) ranks. Masks and tokens come with the samples: (N, 0) then."""
    columns: tuple[str, ...]
    """Names of the features, "" or none where they have no name."""
    categories: tuple[int, ...]
    codes: tuple[tuple[str, ...], ...]
    """Both as in ``DataFacts``."""
    gaps: bool
    """Whether NaN, which stands for a missing number, is known to be among the inputs."""
    vocabulary: str
    merges: tuple[str, ...]
    """As ``DataFacts.vocabulary`` and ``merges``, of text."""
    groups: Tensor | None
    """int64 (N,): samples of the same number belong together, and no split parts them."""
    in_order: bool
    """Whether neighbours are alike, as in a text: the last samples are held back then, not any."""
    parts: dict[str, Tensor]
    """int64 sample numbers of the parts the data came with: "train" always, "validation" and "test" when given."""
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]
    """Sentences for the person about how the data is used."""
    fingerprint: str
    """SHA-256 of the content: the same data has the same, changed data another. "" if the files were not checked."""
    reading: Reading
    """"files" when ``read`` opens and decodes a file for each sample, "cache" when they lie decoded on the disk."""
    supply: str
    """How the samples were come by, a clause for the person; "" when there is nothing to say."""
    decoded_by: str
    """Who decoded them while they were opened, a clause; "" when there is nothing to say."""

    def read(self, indices: Tensor) -> Tensor:
        """The samples of the int64 (n,) ``indices``, on the CPU.

        Pictures are uint8 (n, H, W, C), as files hold them: whoever wants channels first, views them so; a mask is one
        channel more behind them (class number, ``IGNORED_PIXEL`` where there is none), so that whatever moves the picture
        moves it. Vectors are float32 (n, F) and lists (n, L, F), NaN where a number is missing. Tokens are whole numbers
        (n, T + 1), the last being the one that follows. Raises TrainingError naming the file when a sample can no longer be read.
        """
        ...

    def in_file(self, indices: Tensor) -> Tensor | None:
        """The samples by all that their file says of them, for comparing: what ``fit`` made unknown to the model is told
        apart. None where ``read`` tells as much."""
        ...

    def name(self, index: int) -> str:
        """What a person calls the sample: its file, or "sample 1234"."""
        ...

    def fit(self, train: Tensor) -> Source:
        """The same samples once it is known which of them train (int64, sorted): what is learnt from samples (a vocabulary,
        the codes of a category) is learnt from those. Itself where nothing is."""
        ...

    def take_notices(self) -> list[Notice]:
        """What happened while samples were read, since the last call; the same may come again and again."""
        ...

    def take(self) -> Tensor:
        """All samples in order, owned by the caller; the source forgets what it held in memory."""
        ...


class Plain:
    """What holds of most sources: each sample belongs to a class, and nothing is learnt from samples."""

    target: Target = "class"
    columns: tuple[str, ...] = ()
    categories: tuple[int, ...] = ()
    codes: tuple[tuple[str, ...], ...] = ()
    gaps = False
    vocabulary = ""
    merges: tuple[str, ...] = ()
    groups: Tensor | None = None
    in_order = False

    def in_file(self, indices: Tensor) -> Tensor | None:
        return None

    def fit(self, train: Tensor) -> Self:
        return self


class AtHand(Plain):
    """What is alike in all sources that decode nothing."""

    reading: Reading = "memory"
    supply = ""
    decoded_by = ""

    def take_notices(self) -> list[Notice]:
        return []


def silent(text: str, fraction: float | None) -> None:
    """A progress report nobody listens to."""


def never(size: int) -> bool:
    """Keep nothing in memory, whatever its size."""
    return False


def unheard(notice: Notice) -> None:
    """A notice nobody waits for."""


@dataclass(frozen=True)
class Opening:
    """How a source is to be opened.

    ``check`` decodes every file once and leaves out the broken ones; without it files are only listed (a preview).
    ``keep(size)`` says whether samples of ``size`` bytes in all may stay in memory while they are decoded anyway.
    ``workers`` is the number of decoding processes; None lets the work decide. ``decoder`` takes JPEGs in their place,
    None leaves all pictures to them. ``cache`` is where decoded pictures are kept from run to run, None for nowhere.
    ``tell`` hears of what the person should know.
    """

    check: bool = True
    keep: Callable[[int], bool] = never
    workers: int | None = None
    decoder: GpuDecoder | None = None
    cache: CacheWish | None = None
    tell: Callable[[Notice], None] = unheard
    report_progress: ReportProgress = silent
