"""Settings as records, differences, and what a form or a help text needs to know."""

from __future__ import annotations

import json

import pytest
from pydantic import ValidationError

from training.catalog import entries
from training.config import RunConfig, parse_config
from training.config.describe import describe
from training.config.diff import Change, diff
from training.config.field_spec import FieldSpec
from training.config.fields import Section
from training.config.sections.checkpoints import Checkpoints
from training.config.sections.loader import Loader
from training.config.sections.loop import Loop
from training.config.sections.model import Mlp
from training.config.sections.objective import Classification
from training.config.sections.optimizer import AdamW
from training.config.sections.precision import Precision
from training.config.sections.pretrained import TorchvisionModel

SECTION_CLASSES: list[type[Section]] = [
    *(row.config for name in ("dataset", "model", "objective", "optimizer", "schedule") for row in entries(name)),
    *(Precision, Loop, Loader, Checkpoints),
]


def spec(section: type[Section], name: str) -> FieldSpec:
    return next(found for found in describe(section) if found.name == name)


@pytest.mark.parametrize("section", SECTION_CLASSES, ids=lambda section: section.__name__)
def test_every_setting_is_described(section: type[Section]) -> None:
    specs = describe(section)
    assert {found.name for found in specs} == set(section.model_fields) - {"kind"}
    for found in specs:
        assert found.title
        assert found.title[0].isupper() or found.title.startswith("torch.")
        assert found.help.endswith((".", "!"))
        assert found.required or found.default is not None or found.optional
        if found.editor == "choice":
            assert found.default in found.choices
        if found.optional and found.default is None:
            assert found.placeholder, f"{section.__name__}.{found.name}: what does empty mean?"


def test_one_setting_in_detail() -> None:
    lr = spec(AdamW, "lr")
    assert (lr.editor, lr.default, lr.minimum, lr.exclusive_minimum, lr.maximum, lr.exclusive_maximum) == (
        *("float", 1e-3, 0.0, True, 100.0, False),
    )
    assert lr.log_scale
    assert not lr.optional
    clip = spec(Loop, "clip_norm")
    assert (clip.editor, clip.optional, clip.placeholder, clip.minimum) == ("float", True, "never", 0.0)
    assert (spec(Mlp, "hidden").editor, spec(Mlp, "hidden").whole) == ("numbers", True)
    assert (spec(Classification, "class_weights").editor, spec(Classification, "class_weights").whole) == (
        "numbers",
        False,
    )
    assert spec(Mlp, "activation").choices == ("relu", "gelu", "silu", "tanh")
    assert "resnet18" in spec(TorchvisionModel, "name").suggestions
    assert spec(Precision, "device").suggestions[0] == "auto"
    assert spec(Precision, "channels_last").choices == ("auto", "on", "off")
    path = spec(entries("dataset")[1].config, "path")
    assert (path.editor, path.required, path.path) == ("path", True, "folder")


def test_own_settings_come_before_inherited_ones() -> None:
    names = [found.name for found in describe(entries("dataset")[1].config)]
    assert names.index("image_size") < names.index("flip") < len(names)
    assert names[0] == "path"


def test_configurations_are_frozen() -> None:
    config = RunConfig()
    with pytest.raises(ValidationError, match="frozen"):
        config.seed = 3


def test_nothing_differs_from_itself() -> None:
    assert diff(RunConfig(), RunConfig()) == []


def test_differences_in_the_order_of_the_file() -> None:
    new = parse_config(
        {
            "name": "other",
            "optimizer": {"kind": "sgd", "lr": 1e-3},
            "loop": {"clip_norm": "", "ema_decay": 0.9},
            "loader": {"workers": 2},
        }
    )
    changes = diff(RunConfig(), new)
    assert [change.path for change in changes if not change.path.startswith("optimizer.")] == [
        *("name", "loop.clip_norm", "loop.ema_decay", "loader.workers"),
    ]
    by_path = {change.path: change for change in changes}
    assert by_path["optimizer.kind"] == Change("optimizer.kind", "adamw", "sgd")
    assert "optimizer.lr" not in by_path
    assert by_path["optimizer.momentum"] == Change("optimizer.momentum", None, 0.9)
    assert by_path["loop.clip_norm"] == Change("loop.clip_norm", 1.0, None)
    assert str(by_path["loop.clip_norm"]) == "loop.clip_norm: 1.0 → none"


def test_what_changes_a_result_is_told_apart() -> None:
    new = parse_config(
        {
            "name": "other",
            "seed": 1,
            "loader": {"workers": 2},
            "checkpoints": {"every_steps": 7, "monitor": "val/loss"},
            "optimizer": {"kind": "adamw", "lr": 0.5},
        }
    )
    affecting = {change.path for change in diff(RunConfig(), new) if change.affects_result}
    assert affecting == {"seed", "checkpoints.monitor", "optimizer.lr"}


def test_schema_describes_every_section() -> None:
    schema = RunConfig.model_json_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert set(schema["properties"]) == set(RunConfig.model_fields)
    assert schema["$defs"]["AdamW"]["properties"]["lr"]["exclusiveMinimum"] == 0.0
    assert schema["$defs"]["AdamW"]["additionalProperties"] is False
