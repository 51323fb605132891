"""Every variation of images trains, is saved, goes on to the same bits, and is exported, as a script that repeats the run."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.catalog.whole_way import export, train_and_resume
from tests.training.data.conftest import fill_class
from tests.training.data.pairs_of_images import write_pairs
from tests.training.engine.compile.uncompiled import compile_nothing
from tests.training.export.test_script import assert_same_run, check_source, train_by_script
from tests.training.tiny import tiny
from training.config import RunConfig
from training.config.sections.data.image_section import ImageSection
from training.errors import ConfigError
from training.export import export_checkpoint

AMOUNTS = {
    "flip": ("flip=true",),
    "crop_padding": ("crop_padding=2",),
    "rotation": ("rotation=15.0",),
    "resized_crop_scale": ("resized_crop_scale=0.4",),
    "resized_crop_ratio": ("resized_crop_scale=0.4", "resized_crop_ratio=2.0"),
    "auto_augment": ("auto_augment=trivial_augment_wide",),
    "rand_augment_num_ops": ("auto_augment=rand_augment", "rand_augment_num_ops=3"),
    "rand_augment_magnitude": ("auto_augment=rand_augment", "rand_augment_magnitude=20"),
    "vertical_flip": ("vertical_flip=true",),
    "translate": ("translate=0.2",),
    "affine_scale": ("affine_scale=0.2",),
    "shear": ("shear=15.0",),
    "perspective": ("perspective=0.5",),
    "padding_mode": ("rotation=15.0", "crop_padding=2", "padding_mode=zeros"),
    "brightness": ("brightness=0.4", "rotation=15.0"),  # which leaves numbers between the whole ones
    "contrast": ("contrast=0.4",),
    "saturation": ("saturation=0.4",),
    "hue": ("hue=0.1",),
    "grayscale": ("grayscale=0.3",),
    "blur": ("blur=0.5",),
    "blur_sigma": ("blur=0.5", "blur_sigma=1.0"),
    "erasing": ("erasing=0.5",),
    "mixup_alpha": ("mixup_alpha=0.4",),
    "cutmix_alpha": ("cutmix_alpha=1.0",),
}
TOGETHER = tuple(
    dict.fromkeys(setting for amounts in AMOUNTS.values() for setting in amounts if "zeros" not in setting)
)
FOURTHS = {
    " ".join([*AMOUNTS][first::4]): tuple(
        dict.fromkeys(setting for name in [*AMOUNTS][first::4] for setting in AMOUNTS[name])
    )
    for first in range(4)
}
"""Each without the other three: what a script leaves out may be what a setting needs."""


def small(settings: tuple[str, ...], *more: str) -> RunConfig:
    return tiny(
        *("precision.device=cpu", "dataset.kind=shapes", "dataset.samples=60", "dataset.image_size=16"),
        *("model.kind=small_cnn", "model.channels=[4, 4]", "model.hidden=8"),
        *("loop.batch_size=12", "loop.max_steps=2", "checkpoints.every_steps=1"),
        *(f"dataset.{setting}" for setting in settings),
        *more,
    )


def test_every_setting_is_here() -> None:
    inherited = ImageSection.__mro__[1].model_fields  # type: ignore[attr-defined]
    assert set(AMOUNTS) == set(ImageSection.model_fields) - set(inherited)


@pytest.mark.parametrize(
    "settings",
    [
        *(pytest.param(settings, id=name, marks=pytest.mark.slow) for name, settings in FOURTHS.items()),
        pytest.param(TOGETHER, id="together"),
    ],
)
def test_trains_goes_on_to_the_same_bits_and_is_exported(settings: tuple[str, ...], tmp_path: Path) -> None:
    last = train_and_resume(small(settings), tmp_path, step=1)
    export(last, tmp_path / "exported")
    script = tmp_path / "train.py"
    export_checkpoint(last, "script", script)
    train_by_script(script, tmp_path / "again")
    assert_same_run(last, tmp_path / "again")
    if settings == TOGETHER:
        check_source(script)


@pytest.mark.parametrize(
    "more",
    [
        ("loop.accumulation=2", "precision.channels_last=false", "precision.compute=bf16"),
        ("objective.label_smoothing=0.1", "loop.ema_decay=0.9", "dataset.mixup_alpha=0.0"),
    ],
    ids=["accumulation", "label smoothing"],
)
def test_together_with_other_settings(more: tuple[str, ...], tmp_path: Path) -> None:
    last = train_and_resume(small(TOGETHER, *more), tmp_path, step=1)
    script = tmp_path / "train.py"
    export_checkpoint(last, "script", script)
    train_by_script(script, tmp_path / "again")
    assert_same_run(last, tmp_path / "again")


def test_two_classes_told_by_one_score_are_mixed_in_a_script_too(tmp_path: Path) -> None:
    for number, name in enumerate(("apple", "bear")):
        fill_class(tmp_path / "images" / name, 12, seed=100 * number)
    data = ("dataset.kind=image_folder", f"dataset.path={tmp_path / 'images'}", "objective.kind=binary")
    last = train_and_resume(small(AMOUNTS["mixup_alpha"], *data), tmp_path, step=1)
    script = tmp_path / "train.py"
    export_checkpoint(last, "script", script)
    train_by_script(script, tmp_path / "again")
    assert_same_run(last, tmp_path / "again")


def test_a_compiled_step_takes_mixed_targets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its function of tensors, which is not compiled here."""
    compile_nothing(monkeypatch)
    train_and_resume(small(TOGETHER, "precision.compile=step"), tmp_path, step=1)


def test_images_with_masks_go_the_whole_way(tmp_path: Path) -> None:
    """All but mixing, which they have no settings for."""
    unmixed = [f"dataset.{setting}" for setting in TOGETHER if "mix" not in setting]
    settings = (
        *("precision.device=cpu", "dataset.kind=segmentation", f"dataset.path={write_pairs(tmp_path / 'data')}"),
        *("model.kind=unet", "model.width=8", "model.depth=1", "objective.kind=segmentation"),
        *("loop.batch_size=4", "loop.max_steps=2", "checkpoints.every_steps=1", "checkpoints.monitor=auto"),
    )
    export(train_and_resume(tiny(*settings, *unmixed), tmp_path, step=1), tmp_path / "exported")
    with pytest.raises(ConfigError, match=r"dataset\.mixup_alpha: unknown key in \[dataset\] with kind .segmentation."):
        tiny(*settings, "dataset.mixup_alpha=0.2")
