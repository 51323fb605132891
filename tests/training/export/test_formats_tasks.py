"""Every task and network in every format: model.py gives the checkpoint's answers, in words that fit the task."""

from __future__ import annotations

from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
import torch

from tests.training.catalog.task_samples import small
from training.config import consent
from training.data.sources import open_source
from training.data.splits import split_source
from training.engine.runs.run import start_run
from training.errors import InputError
from training.export import export_checkpoint
from training.export.bundle import load_bundle

TRACED = {
    **dict.fromkeys(("regression", "ranking", "embedding"), ("safetensors", "torch-export", "onnx")),
    **dict.fromkeys(("multi_task", "segmentation", "language_model"), ("safetensors", "onnx")),
}
"""What is tried in other formats too; ``tests/training/test_predict.py`` has the rest."""
NETWORK = """
from torch import nn


def build(features: int, outputs: int, width: int = 8) -> nn.Module:
    return nn.Sequential(nn.Linear(features, width), nn.Softplus(), nn.Linear(width, outputs))
"""
ONE_STEP = ("loop.max_steps=1", "schedule.kind=constant")
FORMS: dict[str, tuple[str, ...]] = {
    "classification": (),
    "binary": (),
    "multi_label": ("model.kind=tabular", "model.hidden=[8, 8]", "model.residual=true"),
    "regression": ("model.kind=tabular", "model.hidden=[8]", "model.frequencies=2"),
    "ranking": (),
    "embedding": (),
    "multi_task": (),
    "segmentation": (),
    "segmentation, one logit": ("objective.loss=dice_bce", "model.norm=group"),
    "language_model": (),
    "language_model, rms": ("model.norm=rms", "model.positions=learned", "model.tie_weights=false"),
}


@pytest.mark.parametrize(
    "form", [pytest.param(form, marks=pytest.mark.slow) if form in TRACED else form for form in FORMS]
)
def test_answers_of_every_task(form: str, tmp_path: Path) -> None:
    kind = form.partition(",")[0]
    record = start_run(small(kind, tmp_path / "data", *FORMS[form], *ONE_STEP), tmp_path)
    assert record.status == "completed", record.reason
    for to in TRACED.get(form, ("safetensors",)):
        check_answers(kind, Path(str(record.last_checkpoint)), to, tmp_path / to)


def check_answers(kind: str, checkpoint: Path, to: str, out: Path) -> None:
    facts, predicted, bundle = elsewhere(checkpoint, to, out)
    code = run_path(str(out / "model.py"))
    expected = bundle.logits(bundle.samples())
    shown = expected.double()
    if bundle.objective.probabilities == "softmax":
        shown = shown.softmax(-1 if kind == "language_model" else 1)
    elif bundle.objective.probabilities == "sigmoid":
        shown = shown.sigmoid() if kind == "multi_label" else torch.cat([1 - shown.sigmoid(), shown.sigmoid()], 1)
    names = bundle.facts.names
    assert facts["output"]["shape"][1:] == list(expected.shape[1:]) or kind == "ranking"
    for number, answer in enumerate(predicted):
        if kind in ("classification", "binary"):
            assert answer == (names[int(shown[number].argmax())], pytest.approx(float(shown[number].max()), rel=1e-4))
        elif kind in ("multi_label", "regression"):
            assert list(answer) == list(names)
            assert list(answer.values()) == pytest.approx(shown[number].tolist(), rel=1e-3, abs=1e-4)
        elif kind == "ranking":
            scores = expected[number].flatten()
            assert scores[torch.tensor(answer)].diff().max() <= 1e-5
        elif kind == "multi_task":
            chance = float(shown[number, 0].sigmoid())
            assert answer["big"] == ("1" if chance >= 0.5 else "0", pytest.approx(max(chance, 1 - chance), rel=1e-4))
            assert answer["sum"] == pytest.approx(float(shown[number, 1]), rel=1e-4)
            assert 700 < answer["sum"] < 1300
        elif kind == "embedding":
            assert answer == pytest.approx(shown[number].tolist(), abs=1e-4)
            assert np.linalg.norm(answer) == pytest.approx(1.0, abs=1e-5)
            apart = float((shown[number] - shown[0]).norm())
            assert code["distance"](answer, predicted[0]) == pytest.approx(apart, abs=1e-4)
        elif kind == "segmentation":
            assert np.array_equal(answer, shown[number].argmax(0).numpy())
        else:
            assert answer[0] == names[int(shown[number, -1].argmax())]


@pytest.mark.parametrize(
    ("kind", "settings"),
    [
        ("user_file", ()),
        ("timm", ("model.name=resnet10t",)),
        pytest.param(
            "torchvision_segmentation",
            ("model.name=lraspp_mobilenet_v3_large", "dataset.image_size=[64, 64]"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_networks_of_others(
    kind: str, settings: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if kind == "timm" and find_spec("timm") is None:
        pytest.skip("needs timm")
    task = "segmentation" if kind == "torchvision_segmentation" else "classification"
    more = list(settings)
    if kind == "user_file":
        file = tmp_path / "network.py"
        file.write_text(NETWORK, encoding="utf-8")
        digest = sha256(file.read_bytes()).hexdigest()
        monkeypatch.setattr(consent, "_store", lambda: tmp_path / "trusted.json")
        consent.agree(digest, str(file))
        more += [f"model.path={file}", f"model.trusted={digest}"]
    if kind == "timm":
        more += ["dataset.kind=shapes", "dataset.samples=60", "dataset.image_size=32"]
    record = start_run(small(task, tmp_path / "data", f"model.kind={kind}", *more, *ONE_STEP), tmp_path)
    assert record.status == "completed", record.reason
    if kind == "user_file":
        (tmp_path / "network.py").unlink()  # the run has a copy
    elsewhere(Path(str(record.last_checkpoint)), "safetensors", tmp_path / "out")


def elsewhere(checkpoint: Path, to: str, out: Path) -> tuple[dict[str, Any], list[Any], Any]:
    """Export, then read by its model.py alone: its facts and predictions, and our own bundle."""
    result = export_checkpoint(checkpoint, to, out)
    if to == "safetensors":
        assert result.max_difference < 1e-5
    code = run_path(str(out / "model.py"))
    model, facts = code["load_model"]()
    bundle = load_bundle(checkpoint)
    samples = bundle.samples()
    found = torch.as_tensor(code["logits"](model, facts, samples))
    torch.testing.assert_close(found, bundle.logits(samples), rtol=1e-3, atol=1e-4)
    return facts, code["predict"](model, facts, samples), bundle


def test_rows_are_read_as_in_training(tmp_path: Path) -> None:
    """What ``read_rows`` makes of every kind of cell is what the run made of the file's; others are gaps and unknown."""
    path = tmp_path / "rows.csv"
    colors = ("red", "a green " + "g" * 120 + "1", "a green " + "g" * 120 + "2")
    cells = [(n % 7 if n % 5 else "", colors[n % 3], n % 2 == 0, n % 4, 10 * n) for n in range(60)]
    lines = ["size,color,ripe,code,price"] + [f"{s},{c},{str(r).lower()},{k},{p}" for s, c, r, k, p in cells]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    config = small(
        "regression",
        tmp_path / "data",
        f"dataset.path={path}",
        'dataset.targets=["price"]',
        "dataset.ignored=[]",
        'dataset.categorical=["code"]',
        "dataset.missing_indicator=true",
        "model.kind=tabular",
        "model.hidden=[8]",
    )
    checkpoint = Path(str(start_run(config, tmp_path).last_checkpoint))
    facts, _, _ = elsewhere(checkpoint, "safetensors", tmp_path / "out")
    code = run_path(str(tmp_path / "out" / "model.py"))
    given = [
        {"size": None if s == "" else s, "color": f" {c} ", "ripe": r, "code": float(k)} for s, c, r, k, _ in cells
    ]
    source = open_source(config.dataset)
    source = source.fit(split_source(source, config.dataset)["train"])
    np.testing.assert_array_equal(code["read_rows"](facts, given), source.read_all().numpy())
    row = {"size": None, "color": "violet", "ripe": "", "code": float("nan")}
    unknown = code["read_rows"](facts, [row])
    names = [feature["name"] for feature in facts["input"]["features"]]
    assert np.isnan(unknown[0][names.index("size")])
    assert unknown[0][names.index("size missing")] == 1.0
    assert unknown[0][names.index("color")] == 0.0
    model, _ = code["load_model"]()
    (answer,) = code["predict"](model, facts, unknown)
    assert list(answer) == ["price"]
    assert np.isfinite(list(answer.values())).all()
    with pytest.raises(KeyError, match="a row has no 'size'; give None where it is not known"):
        code["read_rows"](facts, [{"sise": 3, "color": "red", "ripe": True, "code": 1}])
    with pytest.raises(ValueError, match="'size' is 'big', which is no number"):
        code["read_rows"](facts, [row | {"size": "big"}])


def test_a_threshold_goes_along(tmp_path: Path) -> None:
    """What counts as a yes in the run's metrics is one for whoever uses the model."""
    record = start_run(small("binary", tmp_path / "data", "objective.threshold=0.9", *ONE_STEP), tmp_path)
    facts, predicted, bundle = elsewhere(Path(str(record.last_checkpoint)), "safetensors", tmp_path / "out")
    chances = bundle.logits(bundle.samples()).sigmoid()[:, 0].tolist()
    assert 0.5 < max(chances) < 0.9  # it matters
    for (name, chance), yes in zip(predicted, chances, strict=True):
        assert (name, chance) == (bundle.facts.names[0], pytest.approx(1 - yes, rel=1e-4))
    assert facts["output"]["threshold"] == 0.9


def test_a_persons_own_file_in_the_folder_is_never_replaced(tmp_path: Path) -> None:
    """An export writes more than one file: each is looked at."""
    record = start_run(small("regression", tmp_path / "data", "model.kind=tabular", *ONE_STEP), tmp_path)
    checkpoint, folder = Path(str(record.last_checkpoint)), tmp_path / "mine"
    folder.mkdir()
    (folder / "model.py").write_text("my own", encoding="utf-8")
    with pytest.raises(InputError, match=r"model\.py: is there already and not part of an export"):
        export_checkpoint(checkpoint, "safetensors", folder / "model.safetensors")
    assert [path.name for path in folder.iterdir()] == ["model.py"]
    assert (folder / "model.py").read_text(encoding="utf-8") == "my own"
    for _ in range(2):  # what an export of ours wrote, the next of that name may replace
        export_checkpoint(checkpoint, "safetensors", tmp_path / "new" / "model.safetensors")
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        "README.md",
        "model.json",
        "model.safetensors",
        "model.py",
        "proof.json",
        "proof.npz",
    }
