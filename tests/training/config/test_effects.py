"""Which setting acts on what, where a run branches off."""

from __future__ import annotations

from typing import Any

import pytest

from training.config import RunConfig, parse_config
from training.config.diff import Change
from training.config.rules.effects import EFFECTS, effect_of
from training.config.run import alternatives
from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.data.image_section import ImageSection
from training.runs.records.forms import Manifest, TrainedData
from training.runs.resume_plan import ResumePlan, plan_branch

MANIFEST = Manifest(step=16, epoch=2, config={}, data=TrainedData(fingerprint="f", training_samples=240))
SECTIONS = ("dataset", "model", "objective")


def settings_of(section: str) -> list[str]:
    return sorted({f"{section}.{name}" for cls in alternatives(section).values() for name in cls.model_fields})


@pytest.mark.parametrize("path", [path for section in SECTIONS for path in settings_of(section)])
def test_every_setting_of_data_model_and_task_says_what_it_acts_on(path: str) -> None:
    """A new one has to be entered, or its declaration says that no result depends on it."""
    assert path in EFFECTS or effect_of(Change(path, 1, 2)) == "none"


def test_no_effect_is_told_of_a_setting_that_there_is_not() -> None:
    known = {path for section in SECTIONS for path in settings_of(section)}
    assert {path for path in EFFECTS if path.partition(".")[0] in SECTIONS} <= known


def test_a_setting_that_varies_images_means_nothing_else_elsewhere() -> None:
    """Effects go by name: no kind of data may call another thing by the name of a variation."""
    varying = ImageSection.model_fields.keys() - DatasetSection.model_fields
    for cls in alternatives("dataset").values():
        assert issubclass(cls, ImageSection) or not varying & cls.model_fields.keys()


def sheet(before: dict[str, Any], **changed: dict[str, Any]) -> ResumePlan:
    def config(data: dict[str, Any]) -> RunConfig:
        return parse_config(data, paths=False)

    after = before | {
        section: values if values.get("kind") else before[section] | values for section, values in changed.items()
    }
    return plan_branch(config(before), config(after), MANIFEST)


SHAPES: dict[str, Any] = {
    "dataset": {"kind": "shapes"},
    "model": {"kind": "small_cnn"},
    "schedule": {"kind": "plateau"},
}
OTHER: dict[str, Any] = {
    "auto_augment": "rand_augment",
    "padding_mode": "zeros",
    "resized_crop_ratio": 1.5,
    "blur_sigma": 1.5,
}


SWITCHED_ON: dict[str, dict[str, Any]] = {  # what has to be on for a detail of it to matter
    "rand_augment_num_ops": {"auto_augment": "rand_augment"},
    "rand_augment_magnitude": {"auto_augment": "rand_augment"},
    "resized_crop_ratio": {"resized_crop_scale": 0.5},
    "blur_sigma": {"blur": 0.5},
    "padding_mode": {"translate": 0.2},
}


@pytest.mark.parametrize("name", sorted(ImageSection.model_fields.keys() - DatasetSection.model_fields))
def test_images_varied_otherwise_are_the_same_samples(name: str) -> None:
    usual = ImageSection.model_fields[name].default
    value = OTHER.get(name, True if usual is False else 3 if isinstance(usual, int) else 0.25)
    told = sheet(SHAPES | {"dataset": SHAPES["dataset"] | SWITCHED_ON.get(name, {})}, dataset={name: value})
    assert [change.path for change in told.changed] == [f"dataset.{name}"]
    assert told.continues
    assert "plateau" in told.parts
    assert f"the training images are augmented otherwise from here on, because of dataset.{name}" in told.notes


MOONS: dict[str, Any] = {"dataset": {"kind": "moons"}, "model": {"kind": "mlp"}}
MASKS: dict[str, Any] = {
    "dataset": {"kind": "segmentation", "path": "masks"},
    "model": {"kind": "unet"},
    "objective": {"kind": "segmentation"},
}


@pytest.mark.parametrize(
    ("before", "changed", "words"),
    [
        (MOONS, {"objective": {"kind": "binary"}}, "objective.kind asks for a single output now"),
        (
            MOONS | {"objective": {"kind": "binary"}},
            {"objective": {"kind": "classification"}},
            "objective.kind asks for an output for each class now",
        ),
        (MASKS, {"objective": {"kind": "segmentation", "loss": "dice_bce"}}, "objective.loss asks for a single output"),
        (MASKS, {"objective": {"kind": "segmentation", "loss": "dice"}}, ""),
        (MOONS, {"model": {"dropout": 0.2}}, "model.dropout is on now and its layers are counted; leave it at 0"),
        (MASKS, {"model": {"dropout": 0.2}}, ""),
    ],
)
def test_weights_that_do_not_fit_are_refused_for_the_very_reason(
    before: dict[str, Any], changed: dict[str, Any], words: str
) -> None:
    told = sheet(before, **changed)
    assert words in told.refused
    assert bool(told.refused) == bool(words)


TABLE: dict[str, Any] = {
    "dataset": {"kind": "table", "path": "a.csv", "task": "class"},
    "model": {"kind": "tabular"},
}
TEXT: dict[str, Any] = {
    "dataset": {"kind": "text", "path": "a.txt"},
    "model": {"kind": "gpt"},
    "objective": {"kind": "language_model"},
}
FIT_ONLY = "the weights fit only samples of the same shape and the same number of classes"


@pytest.mark.parametrize(
    ("before", "changed", "said"),
    [
        (TABLE, {"features": ["a", "b"]}, True),
        (TABLE, {"categorical": ["a"]}, True),
        (TABLE, {"missing_indicator": True}, True),
        (TABLE, {"targets": ["a"]}, True),
        (TABLE, {"split_seed": 3}, True),  # other rows to train on may hold other categories
        (TEXT, {"context": 64}, True),
        (TEXT, {"vocabulary": "bpe"}, True),
        (TEXT, {"stride": 64}, False),
        (MOONS, {"noise": 0.3}, False),
        (MOONS, {"split_seed": 3}, False),
    ],
)
def test_data_that_may_have_another_form_is_said_to(
    before: dict[str, Any], changed: dict[str, Any], said: bool
) -> None:
    told = sheet(before, dataset=changed)
    assert not told.refused
    assert (FIT_ONLY in told.notes) == said


def test_another_task_over_other_data_is_said_to_need_as_many_outputs() -> None:
    told = sheet(TABLE, dataset={"task": "values"}, objective={"kind": "regression"})
    assert "the weights fit only a task that asks for as many outputs" in told.notes


RESNET: dict[str, Any] = {"dataset": {"kind": "shapes"}, "model": {"kind": "torchvision"}}
OWN = "images are normalized by the training images' own mean and std"
AS_KNOWN = "images are normalized by the mean and std that the checkpoint's weights were trained with"


@pytest.mark.parametrize(
    ("before", "changed", "note"),
    [
        ({}, {"pretrained": "DEFAULT"}, AS_KNOWN),
        ({"pretrained": "DEFAULT"}, {"pretrained": None}, f"{OWN} from here on"),
        ({"pretrained": "DEFAULT"}, {"normalise": "data"}, f"{OWN} from here on"),
        ({"pretrained": "DEFAULT", "normalise": "data"}, {"normalise": "weights"}, AS_KNOWN),
        ({}, {"normalise": "data"}, f"{OWN}, as before"),
    ],
)
def test_weights_to_begin_with_are_replaced_and_the_normalization_is_told(
    before: dict[str, Any], changed: dict[str, Any], note: str
) -> None:
    old = RESNET | {"model": RESNET["model"] | before}
    told = sheet(old, model={"kind": "torchvision"} | before | changed)
    assert note in told.notes
    fresh = any("only random initial weights depend on model.pretrained" in text for text in told.notes)
    assert fresh == ("pretrained" in changed)
    assert not any("network computes otherwise" in text for text in told.notes)
