"""``Data``: the batches of a run, in windows of one optimizer step each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Self

import torch
from torch import Tensor

from training.config import RunConfig
from training.config.sections.user_file import UserFile
from training.core import counter_rng
from training.core.balance import draw_balanced
from training.core.batch_plan import BatchPlan
from training.core.losses import pixel_classes
from training.core.splits import pick_evenly
from training.data.augment import Augmenter
from training.data.augment.draws import epoch_of_view
from training.data.augment.mixing import mix_targets
from training.data.batching.resident import Bounds, Notice, RawBatch, Resident
from training.data.batching.slots import Piece, Slots
from training.data.batching.streamed import BatchFeed
from training.data.normalize import Normalization
from training.data.source import Source
from training.data_report import DataReport
from training.errors import InputError
from training.facts import DataFacts

MOST_TOGETHER = 64
VALUES_TOGETHER = 1 << 16  # a quarter of a megabyte as float32
"""How many small batches, and how many numbers in them, are made ready in one go."""
LOOKED_AT = 1 << 18
"""How many numbers ``training_samples`` has in memory at a time: a megabyte as float32, or one sample that is larger."""
ALIGNMENT = 256
"""Bytes. MKL gives the same bits for arrays equally aligned to 64, and cuBLASLt looks at 256 when it chooses its way."""


@dataclass
class Batch:
    """Ready for the model: ``inputs`` and ``targets`` on the device, as ``facts.Layout`` and ``facts.Target`` say,
    ``indices`` int64 on the CPU."""

    inputs: Tensor
    targets: Tensor
    indices: Tensor


class MicroBatches:
    """The batches of one optimizer step; iterate it once. ``samples`` is the real number of samples in all of them.

    ``used_up`` turns true when the batch after the last is asked for: every batch was worked off, only the step remains.
    ``repeatable`` is made false by a step that failed when it may have changed some numbers already.

    Where batches are cut into slots, ``pieces`` says of each which one it is, and ``begin`` is called before it is used.
    """

    def __init__(
        self,
        samples: int,
        batches: int,
        stream: Iterator[Batch],
        pieces: Sequence[Piece] = (),
        begin: Callable[[Piece], object] = lambda piece: None,
    ) -> None:
        self.samples = samples
        self.batches = batches
        self.used_up = False
        self.repeatable = True
        self.stream = stream
        self.pieces = pieces
        self._begin = begin

    def __iter__(self) -> Iterator[Batch]:
        if not self.pieces:
            yield from self.stream
        for piece, batch in zip(self.pieces, self.stream, strict=False):
            self._begin(piece)
            yield batch
        self.used_up = True

    def weight(self, weigh: Callable[[Tensor], int | Tensor] | None) -> int | Tensor:
        """What the losses of the window's batches are divided by: its samples, or the sum of ``weigh(targets)`` over all
        its batches, which are held together for that until they are used."""
        if weigh is None:
            return self.samples
        batches = list(self.stream)
        self.stream = iter(batches)
        if not batches:  # all of its slots are another process's
            return 0
        total = weigh(batches[0].targets)
        for batch in batches[1:]:
            total = total + weigh(batch.targets)
        return total


class Data:
    """The samples of a run, split, and on request shuffled, varied, normalized and on the device.

    The order of an epoch is ``counter_rng.permutation(seed, epoch)`` of the training samples, or of as many ``draw_balanced`` of
    them, cut as ``plan`` says; so epoch and window number say everything about a batch.
    """

    def __init__(
        self,
        config: RunConfig,
        source: Source,
        facts: DataFacts,
        splits: dict[str, Tensor],
        normalization: Normalization,
        feed: BatchFeed,
        device: torch.device,
        report: DataReport,
    ) -> None:
        self.source = source
        self.facts = facts
        self.complete: Callable[[Tensor, Tensor], Tensor] | None = None
        """Makes of a batch's inputs and targets the targets that the objective wants; asked for each batch by itself."""
        self.splits = splits
        self.normalization = normalization
        self.report = report
        self.plan = config.plan_epoch(len(splits["train"]))
        self.steps_per_epoch = self.plan.steps
        self.evaluation_size = config.loop.validation_batch_size or 2 * config.loop.batch_size  # no gradients are kept
        self.views = 1
        """How often each sample stands in a batch of training, augmented in different ways: all samples in one view, then
        all in the next. Batches of evaluation have them as they are, and behind that, where there are several, these views."""
        self.compares_samples = False
        """Whether samples that lie side by side are compared: evaluation takes them in an order without meaning."""
        self.slots = Slots()
        self.begin_piece: Callable[[int, int, Piece], object] = lambda epoch, window, piece: None
        """Called with epoch, window and piece before one is used, where batches are cut into slots."""
        self._seed = config.seed
        self._sampling = config.loader.sampling
        self._fixed_by = "" if isinstance(config.model, UserFile) else config.model.kind
        self._augment = Augmenter(config.dataset, config.seed, mask=facts.target == "mask")
        self.channels_last = config.precision.channels_last != "off"  # whoever knows the model decides on "auto"
        self._targets = source.targets.to(device)
        self._feed = feed
        self._known_order: tuple[int, Tensor] | None = None

    @property
    def waited(self) -> float:
        """Seconds spent waiting for samples since this was last set to 0."""
        return self._feed.waited

    @waited.setter
    def waited(self, seconds: float) -> None:
        self._feed.waited = seconds

    def take_notices(self) -> list[Notice]:
        """What happened to the reading of samples since the last call."""
        taken = self._feed.notices[:]
        self._feed.notices.clear()
        return taken

    def steps(self, epoch: int, start: int = 0) -> Iterator[MicroBatches]:
        """The windows of an epoch from number ``start`` on. What a window is left with is skipped at the next."""
        plan = self.plan
        windows = self.slots.cut_steps(plan, start)
        bounds = [piece.bounds for pieces in windows for piece in pieces] if windows else plan.bounds_from(start)
        batches = self._batches("train", self._order(epoch), bounds, epoch)
        for step in range(start, plan.steps):
            last = step == plan.steps - 1
            pieces = windows[step - start] if windows else ()
            count = len(pieces) if windows else len(plan.batches_of(step)) if last else plan.accumulation
            stream, begin = islice(batches, count), partial(self.begin_piece, epoch, step)
            yield MicroBatches(plan.samples(step) if last else plan.samples_per_step, count, stream, pieces, begin)
            for _ in stream:
                pass

    def cut(self, finer: BatchPlan, evaluation_size: int) -> None:
        """Cut the same windows into other batches from the next pass on; ``evaluation_size`` is for the other parts."""
        if not finer.has_steps_of(self.plan):
            raise ValueError(f"{finer} has other windows than {self.plan}")
        self.plan = finer
        self.evaluation_size = evaluation_size

    def rebuild_step(self, epoch: int, number: int) -> MicroBatches:
        """The very window that training saw, in whichever process, read again without disturbing the pass that is under way."""
        batches = self.plan.batches_of(number)
        pieces = list(self.slots.of_all().cut(batches)) if self.slots.count > 1 else []
        bounds = [piece.bounds for piece in pieces] or batches
        stream, begin = (
            self._batches("look", self._order(epoch), bounds, epoch),
            partial(self.begin_piece, epoch, number),
        )
        return MicroBatches(self.plan.samples(number), len(bounds), stream, pieces, begin)

    def window_samples(self, epoch: int, number: int) -> Tensor:
        """int64 (n,): the samples of a window by their numbers in the dataset, in the order in which it has them."""
        bounds = self.plan.batches_of(number)
        return self._order(epoch)[bounds[0][0] : bounds[-1][1]]

    def _order(self, epoch: int) -> Tensor:
        """The training samples as the epoch sees them; kept for the next question."""
        if self._known_order is None or self._known_order[0] != epoch:
            train = self.splits["train"]
            order = counter_rng.permutation(self._seed, epoch, len(train), self._targets.device).cpu()
            if self._sampling == "balanced":
                order = draw_balanced(self.source.targets[train], self._seed, epoch)[order]
            self._known_order = epoch, train[order]
        return self._known_order[1]

    def evaluation_order(self, part: str) -> Tensor:
        """int64: the samples of a part in the order of their numbers, but where a batch's samples are compared."""
        order = self.splits[part]
        if self.compares_samples:  # sorted by class, many batches would be of a single one
            order = order[counter_rng.permutation(self._seed, 0, len(order), stream="compared")]
        return order

    def evaluation_batches(self, part: str, start: int = 0, number: int = 0, of: int = 1) -> Iterator[Batch]:
        """The samples of a part, never varied, in that order; without the first ``start``, where a batch begins. Of the batches that
        are shared out among ``of`` processes those of the ``number``-th."""
        order, size = self.evaluation_order(part), self.evaluation_size
        bounds = [(first, min(first + size, len(order))) for first in range(start, len(order), size)][number::of]
        return self._batches("evaluate", order, bounds, None)

    def training_samples(self, count: int) -> Iterator[Tensor]:
        """Up to ``count`` training samples, evenly spaced over their numbers, never varied, a few at a time: float32
        (n, *facts.shape) on the CPU. How many come at a time follows from the shape alone: sums over them round alike
        whatever the settings."""
        some, size = pick_evenly(self.splits["train"], count), max(1, LOOKED_AT // math.prod(self.facts.shape))
        bounds = [(first, min(first + size, len(some))) for first in range(0, len(some), size)]
        return (batch.inputs.cpu() for batch in self._raw_batches("look", some, bounds, None))

    def take(self, numbers: Tensor) -> Batch:
        """The samples ``numbers`` as one batch, not varied; where each has several views, these behind it."""
        use = "evaluate" if self.views > 1 else "look"
        return next(self._batches(use, numbers, [(0, len(numbers))], None))

    def raw(self, numbers: Tensor) -> Tensor:
        """The samples ``numbers`` (int64) as the source holds them, on the CPU."""
        return next(iter(self._feed.iterate("look", numbers, [(0, len(numbers))]))).samples.cpu()

    def batches_ahead(self, prefetch_factor: int) -> int:
        """Those that are read ahead of their use, at the most; 0 where the samples are in memory."""
        placement = self.report.batches
        return 0 if placement.mode == "resident" else max(1, placement.workers) * prefetch_factor

    def bytes_ahead(self, prefetch_factor: int) -> int:
        """What those take. Validation has workers of its own."""
        each = self.report.batches.bytes / max(1, len(self.source.targets))
        samples = self.plan.batch_size + self.evaluation_size
        return int(self.batches_ahead(prefetch_factor) * samples * each)

    def reopen(self, config: RunConfig) -> Data:
        """The data of another run that differs in nothing about its samples; each of the two is closed by itself."""
        feed, device = self._feed.reopen(), self._targets.device
        return Data(config, self.source, self.facts, self.splits, self.normalization, feed, device, self.report)

    def close(self) -> None:
        """Give back memory and processes."""
        self._feed.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _batches(self, use: str, order: Tensor, bounds: Bounds, epoch: int | None) -> Iterator[Batch]:
        batches = self._raw_batches(use, order, bounds, epoch)
        complete = self.complete
        if complete is None:
            return batches
        # One by one, not the several that are made together: which are depends on where a pass begins.
        return (Batch(batch.inputs, complete(batch.inputs, batch.targets), batch.indices) for batch in batches)

    def _raw_batches(self, use: str, order: Tensor, bounds: Bounds, epoch: int | None) -> Iterator[Batch]:
        """The samples between ``bounds``. Small batches that are at hand are made several at a time, because a gather and
        a cast take as long for a hundred numbers as for ten thousand: 16 microseconds a step of a small MLP, now 2."""
        together = self._count_together(bounds)
        groups = [bounds[first : first + together] for first in range(0, len(bounds), together)]
        each = 1
        if epoch is not None and self._augment.mixes:
            each = 2  # every sample is followed by the one it is mixed with
            order = torch.stack([order, self._augment.partners(self.splits["train"], order, epoch)], 1).flatten()
        order = self.source.at_epoch(order, epoch)
        passes = self._feed.iterate(use, order, [(each * group[0][0], each * group[-1][1]) for group in groups])
        for group, raw in zip(groups, passes, strict=True):
            made = self._batch(raw, self._epochs(use, epoch))
            if len(group) == 1:
                yield made
                continue
            sizes = [end - first for first, end in group]
            yield from map(Batch, made.inputs.split(sizes), made.targets.split(sizes), made.indices.split(sizes))

    def _count_together(self, bounds: Bounds) -> int:
        """How many batches are made at a time: as many as stay in a core's cache until they are used. One, where the
        others would lie at odd addresses, which differ with the place where a pass begins: a resumed run must compute on
        what an unbroken one computes on, to the bit."""
        if not isinstance(self._feed, Resident) or not bounds or self.slots.count > 1:
            return 1
        values = (bounds[0][1] - bounds[0][0]) * math.prod(self.facts.shape)
        if self.views > 1 or values * torch.float32.itemsize % ALIGNMENT:
            return 1
        return max(1, min(MOST_TOGETHER, VALUES_TOGETHER // values))

    def _epochs(self, use: str, epoch: int | None) -> list[int | None]:
        """By which epoch each view of a batch is augmented; None: not at all."""
        plain: list[int | None] = [None] * (epoch is None)
        if self.views == 1 or (epoch is None and use != "evaluate"):
            return plain or [epoch]
        return plain + [epoch_of_view(epoch or 0, view) for view in range(self.views)]

    def _batch(self, raw: RawBatch, epochs: Sequence[int | None]) -> Batch:
        facts, samples = self.facts, raw.samples
        if self.source.varies:
            count = len(self.source.targets)
            raw = raw._replace(numbers=raw.numbers % count, indices=raw.indices % count)
        if facts.layout == "tokens":
            tokens = samples.long()
            return Batch(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous(), raw.indices)
        targets = self._targets.index_select(0, raw.numbers) if raw.targets is None else raw.targets
        if facts.layout != "image":
            if self._fixed_by and self.source.runs_own_code:
                refuse_other_shape(tuple(samples.shape[1:]), tuple(facts.shape), self._fixed_by)
            return Batch(self.normalization.apply(samples), targets, raw.indices)
        views = [self._make_view(raw, targets, epoch) for epoch in epochs]
        images, targets, indices = views[0]
        if len(views) > 1:
            images = torch.cat([shown for shown, _, _ in views])
        inputs = images.permute(0, 3, 1, 2)
        if not self.channels_last:
            # Not contiguous(), which leaves one channel as it is, and convolutions take that for channels last.
            inputs = inputs.clone(memory_format=torch.contiguous_format)
        return Batch(inputs, targets, indices)

    def _make_view(self, raw: RawBatch, targets: Tensor, epoch: int | None) -> tuple[Tensor, Tensor, Tensor]:
        """Normalized images (B, H, W, C) as the epoch shows them, with their targets and indices."""
        images = raw.samples
        if epoch is not None and not self._augment.identity:
            images = self._augment(images, raw.indices, epoch, raw.numbers)
        if self.facts.target == "mask":
            targets = pixel_classes(images[..., -1])
            images = images[..., :-1].contiguous()
        images, indices = self.normalization.apply_pixels(images), raw.indices
        if epoch is not None:
            images = self._augment.erase(images, indices, epoch)
            if self._augment.mixes:
                indices = indices[::2].contiguous()
                images, share = self._augment.mix(images[::2], images[1::2], indices, epoch)
                targets = mix_targets(targets[::2], targets[1::2], share, len(self.facts.names))
        return images, targets, indices


def refuse_other_shape(shape: tuple[int, ...], wanted: tuple[int, ...], network: str) -> None:
    """A person's ``collate_fn`` may give each batch a length of its own, of which only a person's own network knows."""
    if shape != wanted:
        now, first = (" x ".join(map(str, each)) for each in (shape, wanted))
        raise InputError(
            f"model.kind: {network} takes samples of one size, but collate_fn made a batch of {now} and the first sample "
            f"is {first}; pad all to one fixed length, or choose user_file."
        )
