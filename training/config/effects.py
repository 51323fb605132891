"""What each setting acts on, where it is changed between a checkpoint and the run that goes on from it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from training.config.dataset_section import DatasetSection
from training.config.diff import Change
from training.config.image_section import ImageSection

Effect = Literal[
    "none", "name", "place", "device", "data", "order", "variation", "shape", "beginning", "network", "normalisation",
    "loss", "rate", "length", "windows", "update", "state", "rounding", "judging", "average", "training", "decoding",
]  # fmt: skip
"""What a changed setting acts on."""


def _alike(section: str, effect: Effect, names: str) -> dict[str, Effect]:
    return {f"{section}.{name}": effect for name in names.split()}


EFFECTS: Mapping[str, Effect] = {
    "name": "name",
    "seed": "order",
    "deterministic": "rounding",
    **{f"dataset.{name}": "variation" for name in ImageSection.model_fields.keys() - DatasetSection.model_fields},
    **_alike("dataset", "place", "path validation_path images class_list"),
    **_alike("dataset", "judging", "duplicates"),
    **_alike(
        "dataset",
        "data",
        "kind name samples data_seed turns noise factor classes spread items image_size color inputs targets task "
        "label_separator file_column file_ending ignore_index unknown features ignored categorical missing_indicator "
        "missing_marks separator query_column max_items split_column group_column validation validation_fraction "
        "test_fraction split_seed context vocabulary vocabulary_size stride encoding emnist_split partition annotation_level",
    ),
    # Some of them keep the shape of every tensor, as heads, but weights that were trained otherwise mean nothing with them.
    **_alike(
        "model",
        "shape",
        "kind name hidden channels norm depth width up layers heads positions bias tie_weights residual embedding_size "
        "frequencies path trusted arguments",
    ),
    **_alike("model", "beginning", "pretrained weights frequency_scale"),
    **_alike("model", "network", "activation dropout drop_path_rate"),
    **_alike("model", "normalisation", "normalise"),
    **_alike(
        "objective",
        "loss",
        "kind loss label_smoothing balanced class_weights ignore_index pos_weight delta standardise mse_weight l1_weight "
        "huber_weight margin teacher teacher_weights teacher_arguments teacher_inputs temperature alpha "
        "dice_weight smooth",
    ),
    **_alike("objective", "judging", "ranking_metrics threshold top"),
    **_alike(
        "optimizer",
        "state",
        "kind amsgrad centered decay_bias_and_norm freeze freeze_stages unfreeze_epoch head_lr_factor layer_decay "
        "adamw_lr_factor",
    ),
    **_alike("optimizer", "rate", "lr"),
    **_alike("precision", "device", "device threads"),
    **_alike("loader", "decoding", "decoder"),
    **_alike("loop", "length", "epochs max_steps"),
    **_alike("loop", "windows", "batch_size accumulation"),
    **_alike("loop", "average", "ema_decay swa_start swa_every_steps"),
    **_alike("loop", "rate", "swa_lr"),
    **_alike(
        "loop",
        "judging",
        "validate_every_steps validation_batch_size early_stopping_patience early_stopping_min_delta",
    ),
    **_alike("checkpoints", "judging", "monitor"),
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
