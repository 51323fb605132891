"""The branch sheet says of weights what the engine finds: they fit, or they do not."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.training.catalog.whole_way import train_and_resume
from tests.training.tiny import tiny_images, write_idx
from training.checkpoints import load_state
from training.checkpoints.load import load_weights
from training.config import RunConfig, parse_config
from training.config.consent import agree
from training.config.run import alternatives
from training.engine.assemble import assemble
from training.engine.recovery.restore import Branch
from training.engine.runs.environment import read_normalization
from training.engine.runs.run import branch_run, start_run
from training.engine.session import Session
from training.errors import CheckpointError
from training.facts import DataFacts
from training.models import make_model
from training.runs.folder import RunFolder, create_run
from training.runs.records.forms import Manifest, TrainedData
from training.runs.records.manifest import verify
from training.runs.resume_plan import plan_branch

Section = dict[str, Any]
MANIFEST = Manifest(step=1, epoch=0, config={}, data=TrainedData(fingerprint="", mean=[0.5], std=[0.2]))
PICTURES = DataFacts("image", (3, 16, 16), "class", ("a", "b", "c"))
TOKENS = DataFacts("tokens", (8,), "tokens", tuple("abcde"))
ROWS = DataFacts("vector", (3,), "class", ("a", "b"), columns=("x", "y", "z"), categories=(0, 0, 9))
TASKS: dict[str, tuple[Section, Section, DataFacts]] = {
    "image": ({"kind": "shapes"}, {"kind": "classification"}, PICTURES),
    "vector": ({"kind": "table", "path": "t.csv", "task": "class"}, {"kind": "classification"}, ROWS),
    "tokens": ({"kind": "text", "path": "t.txt"}, {"kind": "language_model"}, TOKENS),
    "masks": (
        {"kind": "segmentation", "path": "m"},
        {"kind": "segmentation"},
        replace(PICTURES, target="mask"),
    ),
}
NETWORKS: dict[str, tuple[str, Section, Section]] = {
    "small_cnn": (
        "image",
        {"channels": [4, 4], "hidden": 8},
        {"channels": [4, 8], "hidden": 4, "dropout": 0.1, "norm": "batch"},
    ),
    "whitened_cnn": ("image", {"channels": [4, 4, 4]}, {"channels": [4, 4, 8], "norm": "none"}),
    "mlp": (
        "vector",
        {"hidden": [8, 8]},
        {"hidden": [8], "activation": "tanh", "dropout": 0.1, "norm": "layer"},
    ),
    "tabular": (
        "vector",
        {"hidden": [8, 8], "frequencies": 2},
        {
            "hidden": [8],
            "activation": "tanh",
            "dropout": 0.1,
            "norm": "layer",
            "residual": True,
            "embedding_size": 2,
            "frequencies": 3,
            "frequency_scale": 1.0,
        },
    ),
    "unet": (
        "masks",
        {"depth": 1, "width": 4},
        {"depth": 2, "width": 8, "norm": "none", "up": "transposed", "dropout": 0.1},
    ),
    "gpt": (
        "tokens",
        {"layers": 1, "heads": 2, "width": 8, "bias": True},
        {
            "layers": 2,
            "heads": 1,
            "width": 16,
            "dropout": 0.1,
            "positions": "learned",
            "norm": "rms",
            "activation": "silu",
            "bias": False,
            "tie_weights": False,
        },
    ),
}
REFUSED_THOUGH_OF_ONE_SHAPE = {("gpt", "heads")}  # the same numbers, cut into heads otherwise, mean nothing


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, (_, _, others) in NETWORKS.items() for name in others]
)
def test_a_setting_of_a_network_is_refused_just_where_its_weights_do_not_fit(kind: str, name: str) -> None:
    sort, base, others = NETWORKS[kind]
    dataset, objective, facts = TASKS[sort]
    if kind == "mlp":
        dataset, facts = {"kind": "moons"}, replace(facts, categories=())

    def config(**settings: Any) -> RunConfig:
        model = {"kind": kind, **base, **settings}
        return parse_config({"dataset": dataset, "model": model, "objective": objective}, paths=False)

    def shapes(config: RunConfig) -> dict[str, torch.Size]:
        model = make_model(config.model, facts, len(facts.names), seed=0)
        return {key: tensor.shape for key, tensor in model.state_dict().items()}

    before, after = config(), config(**{name: others[name]})
    fits = shapes(before) == shapes(after)
    if (kind, name) in REFUSED_THOUGH_OF_ONE_SHAPE:
        assert fits
        fits = False
    assert bool(plan_branch(before, after, MANIFEST).refused) != fits


@pytest.mark.parametrize("kind", NETWORKS)
def test_every_setting_of_a_network_is_tried(kind: str) -> None:
    assert set(NETWORKS[kind][2]) == set(alternatives("model")[kind].model_fields) - {"kind"}


def run(dataset: Section, model: Section, objective: Section) -> RunConfig:
    return parse_config(
        {
            "name": "fits",
            "dataset": dataset,
            "model": model,
            "objective": objective,
            "schedule": {"kind": "plateau", "patience": 0},
            "loop": {"epochs": 2, "batch_size": 32},
            "precision": {"device": "cpu"},
            "checkpoints": {"every_steps": 2, "keep_last": 9},
        }
    )


def session_of(config: RunConfig) -> Session:
    return assemble(config, lambda text, fraction: None, loads=True)


@pytest.mark.parametrize("case", ["model.embedding_size", "objective.kind", "model.dropout"])
def test_what_is_refused_does_not_fit_and_leaves_nothing(case: str, tmp_path: Path) -> None:
    rows = "\n".join(f"{row % 7},{['red', 'green', 'blue'][row % 3]},{row % 2}" for row in range(90))
    (tmp_path / "t.csv").write_text(f"x,color,y\n{rows}\n")
    dataset: Section = {"kind": "table", "path": str(tmp_path / "t.csv"), "targets": ["y"], "task": "class"}
    model, task = {"kind": "tabular", "hidden": [8]}, {"kind": "classification"}
    before = run(dataset, model, task)
    after = {
        "model.embedding_size": run(dataset, model | {"embedding_size": 5}, task),
        "model.dropout": run(dataset, model | {"dropout": 0.5}, task),
        "objective.kind": run(dataset, model, {"kind": "binary"}),
    }[case]
    parent = RunFolder(Path(start_run(before, tmp_path).folder))
    checkpoint = parent.checkpoints / "step-00000002"
    with pytest.raises(CheckpointError, match=f"the weights belong to another .* because {case} "):
        branch_run(checkpoint, after, tmp_path / "beside")
    assert not (tmp_path / "beside").exists()
    load_weights(checkpoint, session_of(before).model)
    with pytest.raises(CheckpointError, match="belong to another model"):
        load_weights(checkpoint, session_of(after).model)


def test_images_varied_otherwise_go_on_where_the_checkpoint_stands(tmp_path: Path) -> None:
    images = write_idx(tmp_path / "data")
    plateau = ("schedule.kind=plateau", "schedule.patience=0", "schedule.warmup=0")
    before = tiny_images(images, *plateau)
    after = tiny_images(images, *plateau, "dataset.erasing=0.3", "dataset.brightness=0.2", "dataset.cutmix_alpha=1.0")
    parent = RunFolder(Path(start_run(before, tmp_path).folder))
    checkpoint = parent.checkpoints / "step-00000008"
    manifest, state = verify(checkpoint), load_state(checkpoint)
    assert state["plateau"]
    said = plan_branch(before, after, manifest)
    assert said.continues
    session = session_of(after)
    branch = Branch(checkpoint, manifest, parent)
    branch.apply(create_run(tmp_path, after), session)
    assert branch.sheet == said
    assert session.progress.step == 8
    assert session.training_state()["plateau"] == state["plateau"]
    assert branch_run(checkpoint, after, tmp_path).step == 12


def test_only_images_keep_the_spread_that_weights_know() -> None:
    """Of numbers and text no weights know one: applied to them as to images, it would divide them by 255 as well."""
    model = {"kind": "user_file", "path": "net.py", "weights": "w.pth"}
    points, images = (
        parse_config({"dataset": {"kind": kind}, "model": model}, paths=False) for kind in ("moons", "shapes")
    )
    assert read_normalization(points, MANIFEST) is None
    assert read_normalization(images, MANIFEST) == ((0.5,), (0.2,))


def test_a_network_of_ones_own_over_points_goes_on_from_known_weights_to_the_same_bits(tmp_path: Path) -> None:
    code = (
        "from torch import nn\ndef build(features, classes):\n"
        "    return nn.Sequential(nn.Linear(features, 8), nn.ReLU(), nn.Linear(8, classes))\n"
    )
    (tmp_path / "net.py").write_text(code, encoding="utf-8")
    digest = hashlib.sha256(code.encode()).hexdigest()
    agree(digest, "net.py")
    model = {"kind": "user_file", "path": str(tmp_path / "net.py"), "trusted": digest}
    points, task = {"kind": "moons", "samples": 200, "noise": 0.3}, {"kind": "classification"}
    first = start_run(run(points, model, task), tmp_path)
    train_and_resume(run(points, model | {"weights": first.last_checkpoint}, task), tmp_path / "again", step=4)
