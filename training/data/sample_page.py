"""Pages of a dataset's samples, as the window shows them: part by part, of some classes or of all."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath

import torch
from torch import Tensor

from training.config import RunConfig
from training.core import counter_rng
from training.data.augment import Augmenter
from training.data.fitted import open_fitted
from training.data.images.cache_room import cache_wish
from training.data.images.images import Images
from training.data.placement import refuse_too_much_made
from training.data.source import Opening, Source
from training.data.sources.text import Text
from training.data.tables.targets import source_facts
from training.data.texts.vocabulary import vocabulary_of
from training.data_report import Skipped
from training.errors import InputError, TrainingError
from training.protocol.answers import PAGE, Sample, SamplePage, TextWindow
from training.system.untrusted import escape_unprintable

_TOKENS_SHOWN = 128
EXCLUDED = "excluded"
"""What an exclude list leaves out, as a part to look at."""


@dataclass(frozen=True, eq=False)
class OpenedData:
    """The samples that ``config`` names, listed but not all read, and the numbers of those in each part."""

    config: RunConfig
    source: Source
    splits: dict[str, Tensor]
    _listed: dict[object, Tensor] = field(default_factory=dict, repr=False)

    def list_samples(self, part: str, classes: Sequence[str] = (), name: str = "") -> Tensor:
        """int64: the samples of ``part`` in the order they are shown, the same at every call; of ``classes`` or of all, with ``name`` in what
        they are called. Raises InputError for what the data does not have."""
        key = part, tuple(classes), name.casefold()
        if key not in self._listed:
            if part == EXCLUDED:
                of = torch.tensor(self.source.excluded, dtype=torch.int64)
            elif part in self.splits:
                of = self.splits[part]
            else:
                raise InputError(f"The data has no {part} part.", f"Choose {' or '.join(self.splits)}.")
            order = _order(self.source, of, classes)
            if name:
                called = (name.casefold() in self.source.name(number).casefold() for number in order.tolist())
                order = order[torch.tensor([*called], dtype=torch.bool)]
            self._listed.clear()  # of the last question alone: one who scrolls asks it again and again
            self._listed[key] = order
        return self._listed[key]

    def find_number(self, number: int, name: str) -> int | None:
        """Where the sample is that had ``number`` and ``name`` ("": none) when it was evaluated; None where it is gone. Broken files,
        which a run leaves out, are still among those listed here, so that the numbers of those behind them differ."""
        there = 0 <= number < len(self.source.targets)
        if there and (not name or self.source.name(number) == name):
            return number
        return self._numbers.get(name) if name else None

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {self.source.name(number): number for number in range(len(self.source.targets))}


def open_data(config: RunConfig) -> OpenedData:
    """Raises InputError as ``prepare`` does."""
    refuse_too_much_made(config)
    opening = Opening(check=False, seed=config.seed, cache=cache_wish(config.loader))
    return OpenedData(config, *open_fitted(config.dataset, opening))


def read_page(
    data: OpenedData,
    part: str = "train",
    classes: Sequence[str] = (),
    offset: int = 0,
    count: int = PAGE,
    name: str = "",
) -> SamplePage:
    """Images or passages that ``data`` lists, from ``offset`` on; past the end the last page. A file that cannot be
    read keeps its place, and is named. Raises InputError for what the data does not have."""
    order = data.list_samples(part, classes, name)
    start = find_start(offset, len(order), count)
    here = enumerate(order[start : start + count].tolist(), start)
    if isinstance(data.source, Text):
        texts = tuple(_read_text(data.source, index, place) for place, index in here)
        more = not name and len(order) < len(data.splits[part])
        return SamplePage(offset=start, total=len(order), more=more, texts=texts)
    images = _Images(data, part)
    samples: list[Sample] = []
    unreadable: list[Skipped] = []
    for place, index in here:
        try:
            samples.append(images.draw(index, place))
        except TrainingError as error:  # of a file that training will leave out and list
            name = data.source.name(index)
            unreadable.append(Skipped(name, str(error).removeprefix(f"{name}: ")))
    return SamplePage(offset=start, total=len(order), samples=tuple(samples), unreadable=tuple(unreadable))


def read_numbers(data: OpenedData, numbers: Sequence[int], names: Sequence[str] = ()) -> SamplePage:
    """The images with ``numbers`` in the data, as they are; of one that cannot be read the path is its number. With ``names``, as many,
    each is the image of that name, wherever it stands now. Raises InputError for data without images."""
    if data.source.layout != "image":
        raise InputError("The samples of this data are no images.")
    if names and len(names) != len(numbers):
        raise InputError(f"{len(names)} names were given for {len(numbers)} samples; give one for each.")
    images = _Images(data, "validation")
    samples: list[Sample] = []
    unreadable: list[Skipped] = []
    for number, name in zip(numbers, names or [""] * len(numbers), strict=True):
        place = data.find_number(number, name)
        if place is None:
            named = f" {escape_unprintable(name, 200)}" if name else ""
            unreadable.append(Skipped(str(number), f"The data has no sample{named} any more."))
            continue
        try:
            samples.append(images.draw(place, number).model_copy(update={"index": number}))
        except TrainingError as error:
            unreadable.append(Skipped(str(number), str(error)))
    return SamplePage(total=len(numbers), samples=tuple(samples), unreadable=tuple(unreadable))


def find_start(offset: int, total: int, count: int) -> int:
    """Where the page of ``count`` places at ``offset`` begins: past the end the last one."""
    return max(0, offset if offset < total else (total - 1) // count * count)


def _order(source: Source, part: Tensor, classes: Sequence[str]) -> Tensor:
    """int64: the samples of ``part`` in the order they are shown, the same at every call."""
    if isinstance(source, Text):
        held = source.find_readable(part)
        return held[counter_rng.permutation(0, 0, len(held), stream="texts")]
    in_turns = one_of_each_class(
        source.targets if source.target == "class" else torch.zeros(len(source.targets), dtype=torch.int64), part
    )
    if not classes:
        return in_turns
    if source.target not in ("class", "labels"):
        raise InputError("The samples of this data have no classes to choose by.")
    unknown = [name for name in classes if name not in source.classes]
    if unknown:
        raise InputError(f"The data has no class {unknown[0]!r}.", "Choose one that it has.")
    wanted = torch.tensor([name in classes for name in source.classes])
    targets = source.targets[in_turns]
    return in_turns[wanted[targets] if source.target == "class" else targets[:, wanted].bool().any(1)]


def one_of_each_class(targets: Tensor, part: Tensor) -> Tensor:
    """``part`` in an order that goes round the classes, shuffled within each. ``targets`` int64 (N,), ``part`` int64 sample
    numbers."""
    shuffled = part[counter_rng.permutation(0, 0, len(part), stream="thumbnails")]
    classes, order = torch.sort(targets[shuffled], stable=True)
    counts = torch.bincount(classes)
    turn = torch.arange(len(classes)) - (torch.cumsum(counts, 0) - counts)[classes]  # a sample's place in its class
    return shuffled[order[torch.sort(turn, stable=True).indices]]  # of one turn: by class


def _read_text(source: Text, index: int, place: int) -> TextWindow:
    """The first tokens of a window."""
    show = vocabulary_of(source_facts(source)).show
    tokens = source.read(torch.tensor([index]))[0, :_TOKENS_SHOWN].tolist()
    return TextWindow(name=source.name(index), tokens=tuple(map(show, tokens)), place=place)


class _Images:
    """Draws images as they are, and as they are trained on where ``part`` trains."""

    def __init__(self, data: OpenedData, part: str) -> None:
        self._source = data.source
        self._trained = data.splits[part] if part == "train" else None
        self._masked = data.source.target == "mask"
        self._augment = Augmenter(data.config.dataset, data.config.seed, mask=self._masked)

    def draw(self, index: int, place: int) -> Sample:
        """Raises TrainingError where it cannot be read."""
        source = self._source
        indices = torch.tensor([index])
        original = source.read(indices)
        pixels, mixture = (original, "") if self._trained is None else self._as_trained_on(indices, original)
        pixels, original = _as_bytes(pixels, self._masked), _as_bytes(original, self._masked)
        shown, shown_original = (pixels[..., :-1], original[..., :-1]) if self._masked else (pixels, original)
        _, height, width, channels = shown.shape
        values = zip(source.classes, source.targets[index].tolist(), strict=True) if source.target == "values" else ()
        return Sample(
            label=_label(source, index),
            index=index,
            place=place,
            width=width,
            height=height,
            channels=channels,
            pixels_base64=_base64(shown),
            original_base64=_base64(shown_original),
            mask_base64=_base64(pixels[..., -1]) if self._masked else None,
            original_mask_base64=_base64(original[..., -1]) if self._masked else None,
            detail=", ".join(f"{name} {value:.6g}" for name, value in values),
            varied_detail=mixture,
            name=source.name(index),
            mask_name=source.mask_name(index) if isinstance(source, Images) else "",
        )

    def _as_trained_on(self, indices: Tensor, original: Tensor) -> tuple[Tensor, str]:
        """The one sample uint8 (1, H, W, C) as an epoch shows it, and of what it is mixed then."""
        source, augment = self._source, self._augment
        if source.varies:
            original = source.read(source.at_epoch(indices, 1))
        pixels = self._vary(original, indices)
        if not augment.mixes or self._trained is None:
            return pixels, ""
        other = augment.partners(self._trained, indices, 1)
        mixed, share = augment.mix(pixels.float(), self._vary(source.read(other), other).float(), indices, 1)
        labels = _label(source, int(indices)), _label(source, int(other))
        return mixed.round().to(torch.uint8), f"{float(share):.0%} {labels[0]}, {1 - float(share):.0%} {labels[1]}"

    def _vary(self, original: Tensor, indices: Tensor) -> Tensor:
        """Erased places get the mean color of this very image: that of all is not known without reading all."""
        augment = self._augment
        varied = original if augment.identity else augment(original, indices, 1)
        pixels = _as_bytes(varied, augment.mask)
        channels = pixels.shape[3] - augment.mask
        colors = pixels[..., :channels]
        erased = augment.erase(colors, indices, 1, colors.float().mean((0, 1, 2)))
        return torch.cat([erased, pixels[..., channels:]], 3)


def _as_bytes(pixels: Tensor, masked: bool) -> Tensor:
    """uint8 of what is drawn or given as float32 from 0 to 255; images that were normalized before are stretched to that, and of many
    channels, which no screen can show, the first is shown in gray."""
    colors, rest = (pixels[..., :-1], pixels[..., -1:]) if masked else (pixels, pixels[..., :0])
    if pixels.dtype != torch.uint8:
        low, high = float(colors.min()), float(colors.max())
        if low < -0.5 or high > 255.5 + 255 * 0.2:
            colors = (colors - low) * (255 / max(high - low, 1e-6))
        colors = colors.round().clamp(0, 255).to(torch.uint8)
    if colors.shape[-1] not in (1, 3, 4):
        colors = colors[..., :1]
    return torch.cat([colors, rest.to(torch.uint8)], dim=-1)


def _label(source: Source, index: int) -> str:
    """What is to be learned of an image, in few words; the name of one that has a mask."""
    target = source.targets[index]
    if source.target == "class":
        return source.classes[int(target)]
    if source.target == "labels":
        return ", ".join(name for name, on in zip(source.classes, target.tolist(), strict=True) if on) or "no label"
    if source.target in ("values", "tasks"):
        classes = source.target_classes or ((),) * len(target)
        shown = zip(target.tolist(), classes, strict=True)
        return ", ".join(names[int(value)] if names else f"{value:.3g}" for value, names in shown)
    return PurePosixPath(source.name(index)).stem


def _base64(pixels: Tensor) -> str:
    return base64.b64encode(pixels.contiguous().numpy().tobytes()).decode("ascii")
