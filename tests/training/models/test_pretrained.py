"""Weights to begin with: taken where they fit, adapted by rule, told, and never needed again."""

from __future__ import annotations

import json
import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save, save_file
from torch import Tensor, nn

from tests.training.known_facts import sample_facts
from tests.training.tiny import tiny_images, write_idx
from training.config import RunConfig, parse_config
from training.config.files import config_data
from training.config.sections.model import Model
from training.config.sections.pretrained import TimmModel, TorchvisionModel, TorchvisionSegmentation
from training.data.source import silent
from training.doctor import preflight
from training.engine.runs.run import branch_run, resume_run, start_run
from training.errors import ConfigError, InputError
from training.export import export_checkpoint
from training.facts import DataFacts
from training.models import make_model
from training.models.transfer import adapt_channels, interpolate_positions
from training.models.zoo.download import weights_folder
from training.models.zoo.pretrained import Pretrained, load_pretrained
from training.models.zoo.torchvision_weights import find_named_weights
from training.models.zoo.weights import read_tensors, read_weights
from training.runs.folder import RunFolder
from training.runs.records.history import read_history
from training.runs.records.manifest import read_manifest

FIVE = DataFacts("image", (3, 32, 32), "class", tuple("abcde"))
GRAY = DataFacts("image", (1, 32, 32), "class", tuple("xyz"))


def made(config: Model, facts: DataFacts, seed: int = 0) -> nn.Module:
    return make_model(config, facts, len(facts.names), seed)


def began(config: Model, facts: DataFacts) -> tuple[nn.Module, Pretrained]:
    model = made(config, facts)
    beginning = load_pretrained(model, config, facts, len(facts.names), silent)
    assert beginning is not None
    return model, beginning


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A resnet18 with five classes, other weights than any test's own."""
    path = tmp_path_factory.mktemp("weights") / "resnet18.pth"
    torch.save(made(TorchvisionModel(), FIVE, seed=9).state_dict(), path)
    return path


@pytest.mark.slow
def test_all_but_another_head_is_taken(file: Path) -> None:
    there = read_tensors(file)
    model, beginning = began(TorchvisionModel(weights=str(file)), GRAY)
    own, fresh = model.state_dict(), made(TorchvisionModel(), GRAY).state_dict()
    assert beginning.sentence == (
        "120 of 122 tensors taken from resnet18.pth; adapted: conv1.weight; randomly initialized: fc.weight, fc.bias."
    )
    assert beginning.record.fresh == ("fc.weight", "fc.bias")
    assert len(beginning.record.sha256) == 64
    assert torch.equal(own["layer3.1.bn2.running_var"], there["layer3.1.bn2.running_var"])
    assert torch.equal(own["conv1.weight"], there["conv1.weight"].sum(1, keepdim=True))
    assert torch.equal(own["fc.weight"], fresh["fc.weight"])  # a function of the seed, whatever the file
    gray_mean, gray_spread = sum((0.485, 0.456, 0.406)) / 3, sum((0.229, 0.224, 0.225)) / 3
    assert beginning.normalization == ((gray_mean,), (gray_spread,))
    same, whole = began(TorchvisionModel(weights=str(file), normalise="data"), FIVE)
    assert torch.equal(same.state_dict()["fc.weight"], there["fc.weight"])
    assert (whole.normalization, whole.record.fresh) == (None, ())


def test_filters_over_other_channels_answer_alike() -> None:
    filters, gray = torch.randn(4, 3, 3, 3), torch.randn(2, 1, 8, 8)
    answer = nn.functional.conv2d(gray.repeat(1, 3, 1, 1), filters)
    torch.testing.assert_close(nn.functional.conv2d(gray, adapt_channels(filters, 1)), answer)
    torch.testing.assert_close(nn.functional.conv2d(gray.repeat(1, 6, 1, 1), adapt_channels(filters, 6)), answer)
    assert torch.equal(adapt_channels(filters, 3), filters)
    torch.testing.assert_close(adapt_channels(filters, 5)[:, 3:], filters[:, :2] * 3 / 5)


def test_positions_are_those_of_torchvisions_own_rule() -> None:
    from torchvision.models.vision_transformer import interpolate_embeddings

    positions = torch.randn(1, 1 + 14 * 14, 24)
    theirs = interpolate_embeddings(96, 16, {"encoder.pos_embedding": positions.clone()})["encoder.pos_embedding"]
    ours = interpolate_positions(positions, 1 + 6 * 6)
    torch.testing.assert_close(ours, theirs)


@pytest.mark.slow
def test_forms_of_files(file: Path, tmp_path: Path) -> None:
    plain = read_tensors(file)
    save_file(plain, tmp_path / "plain.safetensors")
    torch.save({"epoch": 3, "state_dict": {f"module.{k}": v for k, v in plain.items()}}, tmp_path / "parallel.pt")
    torch.save(plain, tmp_path / "old.pth", _use_new_zipfile_serialization=False)
    for name in ("plain.safetensors", "parallel.pt", "old.pth"):
        model, _ = began(TorchvisionModel(weights=str(tmp_path / name)), FIVE)
        assert all(torch.equal(tensor, plain[key]) for key, tensor in model.state_dict().items()), name


class Harm:
    """Unpickled, it would leave a file behind."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return exec, (f"open({str(self.trace)!r}, 'w')",)


def test_files_that_are_refused(tmp_path: Path, file: Path) -> None:
    harmful, trace = tmp_path / "harm.pth", tmp_path / "trace"
    torch.save({"weight": Harm(trace)}, harmful)
    (tmp_path / "empty.pth").touch()
    (tmp_path / "text.safetensors").write_text("no tensors")
    torch.save({"weight": 3}, tmp_path / "nothing.pth")
    refused = [(name, "not a readable file of weights") for name in ("empty.pth", "text.safetensors")]
    refused += [("harm.pth", "holds code or objects"), ("nothing.pth", "holds no weights by name")]
    for name, sentence in refused:
        with pytest.raises(InputError, match=rf"model\.weights: .*{name}.*{sentence}"):
            began(TorchvisionModel(weights=str(tmp_path / name)), FIVE)
    assert not trace.exists()
    with pytest.raises(InputError, match=r"resnet18\.pth is of another network: \d+ of \d+ tensors fit \(it has conv1"):
        began(TorchvisionModel(name="squeezenet1_1", weights=str(file)), FIVE)
    with pytest.raises(
        InputError, match=r"does not fit this network: layer1\.0\.conv1\.weight is \(64, 64, 3, 3\) there"
    ):
        began(TorchvisionModel(name="resnet50", weights=str(file)), FIVE)
    with pytest.raises(InputError, match="neither a checkpoint nor a run"):
        began(TorchvisionModel(weights=str(tmp_path)), FIVE)
    with pytest.raises(ConfigError, match=r"model\.weights: .* does not exist"):
        parse_config({"model": {"kind": "torchvision", "weights": str(tmp_path / "gone.pth")}})
    with pytest.raises(ConfigError, match="published weights are chosen already"):
        parse_config({"model": {"kind": "torchvision", "weights": str(file), "pretrained": "DEFAULT"}})


def test_another_file_chosen_by_mistake_is_told_in_plain_words(tmp_path: Path) -> None:
    now, formerly = tmp_path / "now.pth", tmp_path / "formerly.pth"
    for file in (now, formerly):
        torch.save({"weight": torch.ones(2)}, file, _use_new_zipfile_serialization=file is now)
    np.savez(tmp_path / "samples.npz", x=np.ones(3))
    foreign = "it is no safetensors file, and torch.save did not write it"
    for name, content, reason in (
        ("words.txt", b"some words", foreign),
        ("table.csv", b"a,b\n1,2\n", foreign),
        ("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(60), foreign),
        ("samples.npz", None, foreign),
        ("words.safetensors", b"some words", "its content is not that of a safetensors file, or it is cut short"),
        ("half.pth", now.read_bytes()[:-600], "it is damaged or cut short"),
        ("half-formerly.pth", formerly.read_bytes()[:-4], "it is damaged or cut short"),
        ("objects.pth", pickle.dumps({"weight": Path("x")}), "it holds code or objects, not only tensors"),
        (
            "renamed.pth",
            save({"weight": torch.ones(2)}),
            "it is a safetensors file, but its name does not end in .safetensors",
        ),
        ("empty.pth", b"", "it is empty"),
    ):
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError) as refused:
            read_weights(str(tmp_path / name))
        assert refused.value.message == (
            f"model.weights: {tmp_path / name} is not a readable file of weights ({reason}); choose a .pth, .pt or .safetensors "
            "file that holds tensors only."
        )


@pytest.mark.filterwarnings("ignore:.*[Ss]parse")
def test_values_that_cannot_be_learned_from_are_refused(tmp_path: Path, file: Path) -> None:
    plain = read_tensors(file)
    name, weight = "layer1.0.conv1.weight", plain["layer1.0.conv1.weight"]
    harmed = weight.clone()
    harmed[0, 0, 0, 0] = float("nan")
    cases: dict[str, tuple[Tensor, str]] = {
        "nan": (harmed, rf"network that fell apart: {name} holds values that are not finite"),
        "infinite": (weight.double() * 1e300, rf"network that fell apart: {name} holds values that are not finite"),
        "complex": (weight.to(torch.complex64), rf"holds {name} in a form that cannot be taken over"),
        "sparse": (torch.eye(3).to_sparse(), rf"holds {name} in a form that cannot be taken over"),
        "meta": (weight.to("meta"), rf"holds {name} in a form that cannot be taken over"),
    }
    for kind, (tensor, sentence) in cases.items():
        torch.save(plain | {name: tensor}, tmp_path / f"{kind}.pth")
        with pytest.raises(InputError, match=rf"model\.weights: .*{kind}\.pth.*{sentence}"):
            began(TorchvisionModel(weights=str(tmp_path / f"{kind}.pth")), FIVE)


def offline(*_arguments: object, **_settings: object) -> None:
    raise OSError("Name or service not known")


@pytest.mark.parametrize(
    "config", [TorchvisionModel(pretrained="DEFAULT"), TimmModel(pretrained="a1_in1k"), TimmModel(pretrained="DEFAULT")]
)
def test_offline_says_what_to_put_where(config: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pooch.retrieve", offline)
    with pytest.raises(
        InputError, match=r"could not be downloaded \(Name or service not known\)\. Put https://"
    ) as error:
        began(config, FIVE)
    assert str(weights_folder()) in error.value.message


def test_published_weights_that_are_on_this_computer(monkeypatch: pytest.MonkeyPatch, file: Path) -> None:
    monkeypatch.setattr("pooch.retrieve", offline)
    place = weights_folder() / "resnet18-f37072fd.pth"
    place.parent.mkdir(parents=True)
    shutil.copy(file, place)
    with pytest.raises(InputError, match=r"resnet18-f37072fd\.pth is damaged; delete it"):
        find_named_weights("resnet18", "DEFAULT", silent)  # the name holds the beginning of another digest
    monkeypatch.setattr("training.models.zoo.download.digest", lambda path: "f37072fd" + "0" * 56)
    weights = find_named_weights("resnet18", "IMAGENET1K_V1", silent)
    assert (weights.name, weights.file) == ("resnet18 IMAGENET1K_V1", place)
    assert weights.mean == (0.485, 0.456, 0.406)
    with pytest.raises(InputError, match="resnet18 has no weights 'IMAGENET1K_V2'; did you mean IMAGENET1K_V1"):
        find_named_weights("resnet18", "IMAGENET1K_V2", silent)
    with pytest.raises(InputError, match="vit_b_16 has no weights 'ZZ'; known are DEFAULT, IMAGENET1K_V1, "):
        find_named_weights("vit_b_16", "ZZ", silent)


@pytest.mark.slow
def test_a_classifier_becomes_the_body_of_a_segmentation_network(tmp_path: Path) -> None:
    classifier = made(TorchvisionModel(name="mobilenet_v3_large"), FIVE, seed=9)
    save_file(classifier.state_dict(), tmp_path / "classifier.safetensors")
    masks = DataFacts("image", (3, 64, 64), "mask", tuple("abcd"))
    config = TorchvisionSegmentation(weights=str(tmp_path / "classifier.safetensors"))
    model, beginning = began(config, masks)
    there, own = classifier.state_dict(), model.state_dict()
    assert torch.equal(own["backbone.0.0.weight"], there["features.0.0.weight"])
    assert all(name.startswith("classifier.") for name in beginning.record.fresh)


@pytest.mark.slow
def test_timm_takes_a_file_by_its_own_rules(tmp_path: Path) -> None:
    facts = DataFacts("image", (1, 32, 32), "class", tuple("xyz"))
    body = made(TimmModel(name="resnet18"), FIVE, seed=9).state_dict()
    save_file(body, tmp_path / "timm.safetensors")
    config = TimmModel(name="resnet18", weights=str(tmp_path / "timm.safetensors"))
    model, beginning = began(config, facts)
    assert beginning.record.fresh == ("fc.weight", "fc.bias")
    torch.testing.assert_close(model.state_dict()["conv1.weight"], body["conv1.weight"].sum(1, keepdim=True))
    assert torch.equal(
        model.state_dict()["fc.weight"], made(TimmModel(name="resnet18"), facts).state_dict()["fc.weight"]
    )


# ----------------------------------------------------------------------------------------------------- whole runs


def images(tmp_path: Path, *overrides: str) -> RunConfig:
    base = tiny_images(
        write_idx(tmp_path / "data", samples=40, size=32),
        "loop.epochs=1",
        "loop.accumulation=1",
        "loop.max_steps=2",
        "schedule.warmup=0",
        "checkpoints.every_steps=1",
        "precision.device=cpu",
    )
    data: dict[str, Any] = config_data(base)
    data["model"] = {"kind": "torchvision", "name": "squeezenet1_1"}
    for override in overrides:
        name, _, value = override.partition("=")
        data["model"][name] = value
    return parse_config(data)


@pytest.mark.slow
def test_a_run_begins_with_them_and_goes_on_without(tmp_path: Path) -> None:
    """From another run's folder; told, kept, and never looked for again."""
    first = start_run(images(tmp_path), tmp_path / "runs")
    parent = Path(first.folder)
    config = images(tmp_path, f"weights={parent}")
    [found] = [item for item in preflight(config, tmp_path) if "tensors taken" in item.title]
    assert found.level == "ok"
    record = start_run(config, tmp_path / "runs")
    folder, last = RunFolder(Path(record.folder)), Path(str(record.last_checkpoint))
    assert any("tensors taken from" in item.title for item in read_history(folder.events_file).findings)
    kept = json.loads(folder.environment_file.read_text())["weights"]
    assert kept["fresh"] == []  # the same classes: the head comes along
    before = load_file(parent / "checkpoints" / "step-00000002" / "ema.safetensors")
    assert kept["file"].endswith("ema.safetensors")
    assert set(before) == set(load_file(last / "model.safetensors"))
    numbers = read_manifest(last).data
    assert numbers.mean == read_manifest(Path(str(first.last_checkpoint))).data.mean
    whole = (last / "model.safetensors").read_bytes()
    shutil.rmtree(parent)
    resumed = resume_run(str(folder.checkpoints / "step-00000001"), tmp_path / "runs")
    assert resumed.status == "completed"
    assert (last / "model.safetensors").read_bytes() == whole
    assert read_manifest(last).data.mean == numbers.mean
    assert export_checkpoint(last, "safetensors", tmp_path / "out").max_difference < 1e-5
    longer = config.model_copy(update={"loop": config.loop.model_copy(update={"max_steps": 3, "epochs": 2})})
    branched = branch_run(last, longer, tmp_path / "runs")
    assert (branched.status, branched.step) == ("completed", 3)


def test_normalization_follows_the_weights(tmp_path: Path, file: Path) -> None:
    tensors: dict[str, Tensor] = made(TorchvisionModel(name="squeezenet1_1"), sample_facts((3, 32, 32)), 3).state_dict()
    save_file(tensors, tmp_path / "weights.safetensors")
    means = []
    for normalize in ("weights", "data"):
        config = images(tmp_path, f"weights={tmp_path / 'weights.safetensors'}", f"normalise={normalize}")
        record = start_run(config, tmp_path / "runs")
        means.append(read_manifest(Path(str(record.last_checkpoint))).data.mean)
    fresh = start_run(images(tmp_path), tmp_path / "runs")
    assert means[0] == [sum((0.485, 0.456, 0.406)) / 3]
    assert means[1] == read_manifest(Path(str(fresh.last_checkpoint))).data.mean
