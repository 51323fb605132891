"""What each setting acts on, where it is changed between a checkpoint and the run that goes on from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from training.config.diff import Change
from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.image_section import ImageSection

Effect = Literal[
    "none", "name", "place", "device", "data", "order", "augmentation", "shape", "beginning", "network", "normalization",
    "loss", "rate", "length", "windows", "update", "state", "rounding", "judging", "ending", "average", "training",
]  # fmt: skip
"""What a changed setting acts on."""


_NAMES: Mapping[str, Mapping[Effect, str]] = {
    "dataset": {
        "place": "path validation_path test_path images class_list",
        "judging": "duplicates",
        "normalization": "normalize",
        "data": "kind name exclude train_images train_masks validation_images validation_masks test_images test_masks class_names samples data_seed turns noise factor classes spread items image_size color inputs targets task "
        "label_separator numeric_targets file_column file_ending ignore_index unknown features ignored categorical missing_indicator "
        "trusted arguments random_samples missing_marks separator query_column max_items split_column group_column "
        "uninformative keep_columns high_cardinality hash_buckets day_first decimal thousands time_column validation validation_fraction "
        "test_fraction split_seed context vocabulary vocabulary_size stride encoding emnist_split partition annotation_level",
    },
    "model": {
        # Some keep the shape of every tensor, as heads, but weights that were trained otherwise mean nothing with them.
        "shape": "kind name hidden channels norm depth width up layers heads positions bias tie_weights residual "
        "embedding_size frequencies path trusted arguments",
        "beginning": "pretrained weights frequency_scale",
        "network": "activation dropout drop_path_rate",
        "normalization": "normalise",
    },
    "objective": {
        "loss": "kind loss task path trusted arguments label_smoothing balanced class_weights ignore_index pos_weight delta standardise mse_weight "
        "l1_weight huber_weight mining normalize views weights margin teacher teacher_weights teacher_arguments teacher_inputs temperature alpha "
        "dice_weight smooth",
        "shape": "embedding_size",
        "judging": "ranking_metrics threshold top",
    },
    "optimizer": {
        "state": "kind amsgrad centered decay_bias_and_norm freeze freeze_stages unfreeze_epoch head_lr_factor layer_decay "
        "adamw_lr_factor",
        "rate": "lr",
    },
    "precision": {"device": "device threads"},
    "loop": {
        "length": "epochs max_steps",
        "windows": "batch_size accumulation",
        "average": "ema_decay swa_start swa_every_steps",
        "rate": "swa_lr",
        "judging": "validate_every_steps validation_batch_size early_stopping_min_delta",
        "ending": "early_stopping_patience stopping_threshold",
    },
    "loader": {"windows": "drop_last"},
    "checkpoints": {"judging": "monitor"},
}

EFFECTS: Mapping[str, Effect] = {
    "name": "name",
    "seed": "order",
    "deterministic": "rounding",
    "muted_findings": "none",
    **{f"dataset.{name}": "augmentation" for name in ImageSection.model_fields.keys() - DatasetSection.model_fields},
    **{
        f"{section}.{name}": effect
        for section, effects in _NAMES.items()
        for effect, names in effects.items()
        for name in names.split()
    },
}
"""Every setting of ``[dataset]``, ``[model]`` and ``[objective]`` stands here: what of a checkpoint fits depends on them."""

_SECTION_EFFECTS: Mapping[str, Effect] = {
    "optimizer": "update",
    "schedule": "rate",
    "precision": "rounding",
    "loop": "training",
}


def effect_of(change: Change) -> Effect:
    """What ``change`` acts on."""
    if change.path != "name" and not change.affects_result:
        return "none"
    return EFFECTS.get(change.path) or _SECTION_EFFECTS.get(change.path.partition(".")[0], "training")
