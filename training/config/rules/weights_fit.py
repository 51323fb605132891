"""What changed settings mean for weights beyond the setting by itself: whether they still fit, and which images they see."""

from __future__ import annotations

from collections.abc import Sequence

from training.config.diff import Change
from training.config.run import RunConfig
from training.config.sections.data.tables import TableSection
from training.config.sections.data.tabular import Tabular
from training.config.sections.data.text import TextDataset
from training.config.sections.model import Mlp, SmallCnn
from training.config.sections.objective import Binary, Classification, Distillation, Segmentation
from training.config.sections.pretrained import StartingWeights

_SHAPING = frozenset(
    f"dataset.{name}"
    for name in (
        "kind", "path", "name", "image_size", "color", "inputs", "targets", "task", "numeric_targets", "label_separator", "class_list", "class_names", "train_images", "train_masks",
        "ignore_index", "unknown", "classes", "features", "ignored", "categorical", "missing_indicator", "missing_marks",
        "separator", "decimal", "thousands", "day_first", "uninformative", "keep_columns", "high_cardinality", "hash_buckets", "query_column", "max_items", "split_column", "group_column", "time_column", "context", "vocabulary",
        "vocabulary_size", "encoding", "emnist_split", "partition", "annotation_level",
    )
)  # fmt: skip
"""Settings of the data that may change the shape of a sample or how many answers there are to it."""

_DIVIDING = frozenset(
    f"dataset.{name}"
    for name in (
        "validation",
        "validation_path",
        "test_path",
        "validation_images",
        "validation_masks",
        "test_images",
        "test_masks",
        "validation_fraction",
        "test_fraction",
        "split_seed",
    )
)
"""Other samples to train on, among which other categories, characters or pieces of words may occur."""
_GROUPING = frozenset(f"dataset.{name}" for name in ("split_column", "group_column", "time_column"))
"""They decide, too, which samples are held out."""


def shaping(changes: Sequence[Change], after: RunConfig) -> bool:
    """Whether ``changes`` may make samples or classes that the weights do not fit; only opening the data tells."""
    learned = isinstance(after.dataset, TableSection | TextDataset)
    return any(change.path in _SHAPING or (learned and change.path in _DIVIDING) for change in changes)


def redividing(changes: Sequence[Change]) -> list[str]:
    """The settings among ``changes`` that hold out other samples of the same data: some of them the weights have been trained on."""
    paths = [change.path for change in changes]
    if any(path in ("dataset.kind", "dataset.path") for path in paths):
        return []
    return [path for path in paths if path in _DIVIDING or path in _GROUPING]


def holds_out_others(path: str) -> bool:
    """Whether runs that differ in this setting may have been validated on different samples."""
    return (
        path in ("dataset.kind", "dataset.path", "dataset.exclude", "dataset.classes") or path in _DIVIDING | _GROUPING
    )


def other_outputs(before: RunConfig, after: RunConfig) -> str:
    """Why the last layer does not fit the task: two classes are answered by two numbers, or by a single one; "" elsewhere."""
    old, new = before.objective, after.objective
    masks = isinstance(old, Segmentation) and isinstance(new, Segmentation)
    classes = isinstance(old, _CLASSES) and isinstance(new, _CLASSES)
    if not (masks or classes) or _single(before) == _single(after):
        return ""
    path = "objective.loss" if masks else "objective.kind"
    wanted = "a single output" if _single(after) else "an output for each class"
    return (
        f"the weights belong to another task, because {path} asks for {wanted} now; change it back, or start a new run"
    )


def outputs_unknown(before: RunConfig, after: RunConfig) -> bool:
    """Whether the new task may ask for another number of outputs, which only the data tells."""
    old, new = before.objective, after.objective
    return old.kind != new.kind and not (isinstance(old, _CLASSES) and isinstance(new, _CLASSES))


_CLASSES = (Classification, Distillation, Binary)


def _single(config: RunConfig) -> bool:
    task = config.objective
    return isinstance(task, Binary) or (isinstance(task, Segmentation) and task.loss == "dice_bce")


def find_renumbering(before: RunConfig, after: RunConfig) -> str:
    """Why weights do not fit a network of the same size: layers that stand in a row are numbered, dropout among them."""
    old, new = before.model, after.model
    if not isinstance(old, _IN_A_ROW) or not isinstance(new, _IN_A_ROW) or bool(old.dropout) == bool(new.dropout):
        return ""
    advice = "keep it above 0" if old.dropout else "leave it at 0"
    return (
        f"the weights belong to another model, because model.dropout is {'on' if new.dropout else 'off'} now and its layers "
        f"are counted; {advice}, or start a new run"
    )


_IN_A_ROW = (SmallCnn, Mlp, Tabular)


def normalization_notes(before: RunConfig, after: RunConfig) -> list[str]:
    """By which mean and std the network sees images from here on, where settings that decide it are changed."""
    old, new = before.model, after.model
    if not isinstance(old, StartingWeights) or not isinstance(new, StartingWeights):
        return []
    if not any(getattr(old, name, None) != getattr(new, name, None) for name in ("normalise", "pretrained", "weights")):
        return []
    if after.dataset.layout != "image":
        return [] if old.normalise == new.normalise else ["model.normalise is not used, because the data is no images"]
    if as_weights_know(after):
        return ["images are normalized by the mean and std that the checkpoint's weights were trained with"]
    own = "images are normalized by the training images' own mean and std"
    return [f"{own} from here on" if as_weights_know(before) else f"{own}, as before"]


def as_weights_know(config: RunConfig) -> bool:
    """Whether images get the mean and std of the weights that the network began with, and keep them."""
    model = config.model
    return (
        config.dataset.layout == "image"
        and isinstance(model, StartingWeights)
        and model.normalise == "weights"
        and bool(model.weights or getattr(model, "pretrained", None))
    )
