"""``dataset.classes``: of every kind of data with classes some are kept, as if the others were not there."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import torch

from tests.reports import inspect
from tests.training.data.conftest import MakeConfig, fill_class, image
from tests.training.data.data_with_classes import KINDS, Make, make_image_folder
from training.config import parse_config
from training.config.sections.data.torchvision_sets import TorchvisionDataset
from training.data import prepare
from training.data.images.cache_room import CacheWish
from training.data.source import Opening, Source
from training.data.sources import open_source
from training.data.torchvision_sets import KNOWN_SETS
from training.errors import ConfigError, InputError

each_kind = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)


def opened(settings: dict[str, Any], *, check: bool = True, cache: CacheWish | None = None, **more: Any) -> Source:
    dataset = parse_config({"dataset": settings | more}, about=("dataset",)).dataset
    return open_source(dataset, Opening(check=check, workers=0, cache=cache))


@each_kind
def test_what_is_kept_is_what_it_is_among_all(make: Make, tmp_path: Path) -> None:
    settings = make(tmp_path / "data")
    whole = opened(settings)
    last, first = whole.classes[2], whole.classes[0]
    kept = opened(settings, classes=[last, first])
    assert kept.classes == (first, last)  # in the data's order
    mine = (whole.targets != 1).nonzero()[:, 0]
    assert torch.equal(kept.read(torch.arange(len(mine))), whole.read(mine))
    assert torch.equal(kept.targets, whole.targets[mine] // 2)
    assert kept.parts.keys() == whole.parts.keys()
    for part, numbers in whole.parts.items():
        assert torch.equal(mine[kept.parts[part]], numbers[whole.targets[numbers] != 1])
    for name in ("groups", "moments"):
        assert (getattr(kept, name) is None) == (getattr(whole, name) is None)
    assert [kept.name(number) for number in range(3)] == [whole.name(int(number)) for number in mine[:3]]
    left = int((whole.targets == 1).sum())
    assert f"2 of 3 classes kept; {left} samples of the others left out" in kept.notes
    assert torch.equal(pickle.loads(pickle.dumps(kept)).read(torch.arange(5)), kept.read(torch.arange(5)))
    assert torch.equal(kept.read_all(), whole.read(mine))


@each_kind
def test_all_named_are_all_and_fewer_are_other_data(make: Make, tmp_path: Path) -> None:
    settings = make(tmp_path / "data")
    whole, named = opened(settings), opened(settings, classes=list(opened(settings).classes))
    fewer, others = (opened(settings, classes=[whole.classes[number] for number in kept]) for kept in ([0, 1], [1, 2]))
    assert named.fingerprint == whole.fingerprint
    assert named.notes == whole.notes
    assert len({whole.fingerprint, fewer.fingerprint, others.fingerprint}) == 3
    assert opened(settings, classes=list(fewer.classes)).fingerprint == fewer.fingerprint


@each_kind
def test_a_class_that_is_not_there_is_named_with_those_that_are(make: Make, tmp_path: Path) -> None:
    settings = make(tmp_path / "data")
    names = opened(settings).classes
    with pytest.raises(InputError) as error:
        opened(settings, classes=[names[0], "zebra"])
    known = ", ".join(f"'{name}'" for name in names)
    assert error.value.message == f"dataset.classes: the data has no class 'zebra'; it has {known}."
    assert error.value.fix == {"dataset.classes": []}


@each_kind
def test_the_preview_lists_all_classes_and_marks_those_that_are_kept(make: Make, tmp_path: Path) -> None:
    settings = make(tmp_path / "data")
    whole = opened(settings)
    counts = torch.bincount(whole.targets).tolist()

    def choices(*kept: str) -> list[tuple[str, int, bool]]:
        config = parse_config({"dataset": settings | {"classes": kept}}, about=("dataset",))
        return [tuple(choice.values()) for choice in inspect(config)["class_choices"]]

    assert choices() == [(name, count, True) for name, count in zip(whole.classes, counts, strict=True)]
    some = choices(*whole.classes[:2])
    assert some == [(*each[:2], place < 2) for place, each in enumerate(choices())]
    refused = choices(whole.classes[0], "zebra")  # the check boxes stay while the setting is wrong
    assert refused == [(*each[:2], place < 1) for place, each in enumerate(choices())]


def test_only_files_of_kept_classes_are_decoded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = make_image_folder(tmp_path / "data")
    for broken in (tmp_path / "data" / "train" / "bear").iterdir():
        broken.write_bytes(b"no image")
    image(7, (40, 20)).save(tmp_path / "data" / "train" / "bear" / "other_size.png")
    kept = opened(settings, classes=["apple", "crow"])
    assert kept.shape == (3, 16, 16)
    assert kept.skipped == ()


def test_a_whole_cache_survives_a_run_on_few_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The cache's limit counts the whole folder: else a small choice would throw the rest away."""
    monkeypatch.setattr("training.data.images.image_cache._SPARE", 0)
    settings = make_image_folder(tmp_path / "data")
    for number in range(40):
        image(1000 + number).save(tmp_path / "data" / "train" / "bear" / f"more{number}.png")
    wish = CacheWish("on", tmp_path / "cache", 10**9)
    opened(settings, cache=wish)
    some = opened(settings, cache=wish, classes=["apple", "crow"])
    assert some.supply.startswith("they came decoded from the cache")
    assert opened(settings, cache=wish).supply.startswith("they came decoded from the cache")


def test_a_part_of_the_data_that_would_be_empty_is_refused(tmp_path: Path) -> None:
    settings = make_image_folder(tmp_path / "data")
    for name in ("apple", "crow"):
        (tmp_path / "data" / "val" / name).rename(tmp_path / name)
    with pytest.raises(InputError, match=r"no sample of the validation part .* is of a class that is kept") as error:
        opened(settings, classes=["apple", "crow"])
    assert error.value.fix == {"dataset.validation": "split"}
    assert list(opened(settings, classes=["apple", "crow"], validation="split").parts) == ["train"]
    assert opened(settings, classes=["apple", "bear"]).parts["validation"].tolist() == [18, 19, 20, 21]


def test_a_class_without_training_samples_is_refused(tmp_path: Path) -> None:
    rows = [f"{number},{number % 3},{'test' if number % 3 == 2 else 'train'}" for number in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["a,name,part", *rows]) + "\n")
    settings = {"kind": "table", "path": str(tmp_path / "a.csv"), "targets": ["name"], "split_column": "part"}
    with pytest.raises(InputError, match=r"^dataset\.classes: no training sample is of the class '2'\."):
        opened(settings, classes=["1", "2"])
    with pytest.raises(InputError, match=r"no sample of the test part .* is of a class that is kept"):
        opened(settings, classes=["0", "1"])


def test_numbers_and_truths_are_called_as_the_table_writes_them(tmp_path: Path) -> None:
    frame = pl.DataFrame({"x": [0.5, 1.5, 2.5, 3.5] * 4, "n": [7, 3, 11, 3] * 4, "b": [True, False, True, True] * 4})
    frame.write_parquet(tmp_path / "a.parquet")
    settings = {"kind": "table", "path": str(tmp_path / "a.parquet")}
    assert opened(settings, targets=["n"], ignored=["b"], classes=[11, "3"]).classes == ("3", "11")
    assert opened(settings, targets=["b"], classes=["true", "false"]).classes == ("false", "true")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"classes": ["a"]}, "dataset.classes: keeps one class only, 'a'; name at least two"),
        ({"classes": ["a", "b", "a"]}, "dataset.classes: names 'a' twice"),
        ({"classes": ["a", "b"], "task": "values"}, "dataset.classes: chooses among classes, but the task is"),
        ({"classes": [""]}, "dataset.classes.0: must not be empty"),
        ({"classes": 3}, "dataset.classes: must be a list of values, but is 3"),
    ],
)
def test_what_no_data_could_fulfill_is_refused_before_it_is_opened(
    settings: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    (tmp_path / "a.npz").touch()
    with pytest.raises(ConfigError) as error:
        parse_config({"dataset": {"kind": "npz", "path": str(tmp_path / "a.npz"), **settings}}, about=("dataset",))
    assert sentence in str(error.value)


def test_data_that_turns_out_to_have_no_classes_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((9, 2)), y=np.arange(9) / 2)
    with pytest.raises(InputError, match=r"^dataset\.classes: the target is no class"):
        opened({"kind": "npz", "path": str(tmp_path / "a.npz")}, classes=["0", "1"])


def test_a_run_knows_only_what_is_kept(make_config: MakeConfig, tmp_path: Path) -> None:
    settings = make_image_folder(tmp_path / "data") | {"validation": "split", "classes": ["crow", "apple"]}
    shared = tmp_path / "data" / "train" / "bear" / "000.png"
    shared.write_bytes((tmp_path / "data" / "train" / "apple" / "000.png").read_bytes())  # a copy that is left out
    data = prepare(make_config(dataset=settings), torch.device("cpu"))
    assert data.facts.names == ("apple", "crow")
    assert data.report.class_count == 2
    assert {part: sum(counts) for part, counts in data.report.counts.items()} == data.report.samples
    assert sum(data.report.samples.values()) == 2 * 9
    assert data.facts.counts is not None
    assert len(data.facts.counts) == 2


def test_known_sets_are_chosen_by_their_own_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sets in folders that are called otherwise than their classes, and sets in lists."""
    known = KNOWN_SETS["Imagenette"]
    root = tmp_path / known.files[0].makes
    for part in ("train", "val"):
        for number in range(len(known.classes)):
            fill_class(root / part / f"n{number:08}", 2, seed=10 * number)
    settings = {"name": "Imagenette", "path": str(tmp_path), "download": False}
    whole = open_source(TorchvisionDataset.model_validate(settings), Opening(workers=0))
    assert whole.classes == known.classes
    names = [known.classes[7], known.classes[2]]
    some = open_source(TorchvisionDataset.model_validate(settings | {"classes": names}), Opening(workers=0))
    assert some.classes == (known.classes[2], known.classes[7])
    assert {some.name(number).split("/")[1] for number in range(len(some.targets))} == {"n00000002", "n00000007"}
