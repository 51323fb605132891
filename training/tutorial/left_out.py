"""What of a run the short script does not say: listed in its first lines, never silently dropped."""

from __future__ import annotations

from collections.abc import Iterator

from training.config import RunConfig
from training.config.describe import describe
from training.config.fields import Section
from training.config.run import SECTIONS
from training.tutorial.literals import prose

_ALWAYS = ("resuming inside an epoch, leaving out steps that are not finite, the run's very own random numbers",)
_SAID = {
    "dataset": {
        *(
            "path",
            "name",
            "images",
            "train_images",
            "train_masks",
            "validation_images",
            "validation_masks",
            "targets",
            "features",
            "ignored",
            "categorical",
            "query_column",
            "max_items",
            "inputs",
        ),
        *("image_size", "color", "validation_fraction", "split_seed", "label_separator", "file_ending", "file_column"),
        "numeric_targets",
        *("class_list", "ignore_index", "context", "stride", "vocabulary", "validation_path", "encoding", "separator"),
        *(
            "missing_marks",
            "uninformative",
            "keep_columns",
            "decimal",
            "hash_buckets",
            "samples",
            "turns",
            "noise",
            "factor",
            "classes",
            "spread",
            "data_seed",
            "items",
            "validation",
        ),
        *(
            "flip",
            "vertical_flip",
            "crop_padding",
            "rotation",
            "resized_crop_scale",
            "resized_crop_ratio",
            "auto_augment",
        ),
        *(
            "translate",
            "affine_scale",
            "shear",
            "perspective",
            "rand_augment_num_ops",
            "rand_augment_magnitude",
            "task",
        ),
        *("brightness", "contrast", "saturation", "hue", "grayscale", "blur", "blur_sigma", "erasing", "mixup_alpha"),
        *("cutmix_alpha", "drop_last"),
    },
    "objective": {
        *("loss", "label_smoothing", "balanced", "class_weights", "pos_weight", "threshold", "delta", "standardise"),
        *("mse_weight", "l1_weight", "huber_weight", "margin", "top", "teacher", "temperature", "alpha", "dice_weight"),
        *("smooth", "ignore_index", "teacher_trusted", "weights"),
    },
    "precision": {"compute", "device", "threads"},
    "loop": {
        *("epochs", "max_steps", "batch_size", "accumulation", "clip_norm", "clip_value", "ema_decay"),
        *("early_stopping_patience", "early_stopping_min_delta", "validation_batch_size"),
    },
    "loader": {"sampling", "drop_last"},
    "checkpoints": {"monitor"},
}
_OPTIMIZER_LEFT_OUT = {"layer_decay", "freeze_stages"}
"""All other settings of an optimizer are its arguments; those of networks and schedules are all said."""


def list_left_out(config: RunConfig) -> Iterator[str]:
    """A line for each setting that would change the result and is not said."""
    for name in SECTIONS:
        section: Section = getattr(config, name)
        for spec in describe(type(section)):
            value = getattr(section, spec.name, None)
            if (
                spec.name == "kind"
                or not spec.affects_result
                or value == spec.default
                or _says(config, name, spec.name)
            ):
                continue
            yield prose(f"{name}.{spec.name} = {value}")
    yield from _ALWAYS


def _says(config: RunConfig, section: str, name: str) -> bool:
    if section == "optimizer":
        staged = name == "freeze" and config.optimizer.freeze == "stages"
        return name not in _OPTIMIZER_LEFT_OUT and not staged
    if section == "schedule":
        return not (config.schedule.kind == "plateau" and name.startswith("warmup"))
    return section == "model" or name in _SAID[section]
