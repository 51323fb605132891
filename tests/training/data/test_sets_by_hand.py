"""Sets that a person has to fetch, and archives whose folders are called otherwise than torchvision calls them."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torchvision.datasets

from tests.training.data import known_trees
from tests.training.data.test_known_sets import packed, samples
from tests.training.data.test_torchvision_set import opened, put, serve
from training.config.sections.data.torchvision_sets import TorchvisionDataset, TorchvisionSegmentationDataset
from training.data.source import Opening
from training.data.sources import open_source
from training.data.torchvision_sets import KNOWN_SETS, MASKED
from training.errors import InputError


def test_a_thousand_folders_of_imagenet_get_its_names(tmp_path: Path) -> None:
    known_trees.photograph(tmp_path / "one.jpg")
    for number in range(1000):
        (tmp_path / "train" / f"n{number:08}").mkdir(parents=True)
        shutil.copy(tmp_path / "one.jpg", tmp_path / "train" / f"n{number:08}")
    names = opened("ImageNet", tmp_path, check=False).classes
    assert (len(names), len(set(names)), names[0], names[207], names[999]) == (
        1000, 1000, "tench", "golden retriever", "toilet tissue",
    )  # fmt: skip


@pytest.mark.parametrize("file", ["icml_face_data.csv", "train.csv"])
def test_faces_of_fer_lie_in_one_of_three_files(file: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchvision.datasets.fer2013.check_integrity", lambda *_, **__: True)
    known_trees.faces(tmp_path, file)
    source = opened("FER2013", tmp_path)
    assert {part: len(rows) for part, rows in source.parts.items()} == (
        {"train": 4} if file == "train.csv" else {"train": 2, "test": 2}
    )
    for part, rows in source.parts.items():
        reference = torchvision.datasets.FER2013(tmp_path, split=part)
        assert samples(source, rows) == [(np.asarray(image).tobytes(), label) for image, label in reference]


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("name", [name for name, known in (KNOWN_SETS | MASKED).items() if known.by_hand])
def test_what_no_program_can_fetch_is_told_with_its_files(name: str, check: bool, tmp_path: Path) -> None:
    section = TorchvisionSegmentationDataset if name in MASKED else TorchvisionDataset
    dataset = section.model_validate({"name": name, "path": str(tmp_path)})
    with pytest.raises(InputError, match=f"^{name} is not in .* yet, and no program can fetch it") as caught:
        open_source(dataset, Opening(check=check, workers=0))
    known = (KNOWN_SETS | MASKED)[name]
    assert caught.value.advice == f"{known.by_hand} {tmp_path / known.folder}."
    for remote in known.files:
        assert name in ("ImageNet", "StanfordCars") or remote.name in caught.value.advice


def test_archives_that_a_person_fetched_are_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known_trees.celebrities(tmp_path / "made")
    made, place = tmp_path / "made" / "celeba", tmp_path / "data" / "celeba"
    files = {"img_align_celeba.zip": packed("zip", made, "img_align_celeba")}
    put(place, files)
    with pytest.raises(
        InputError, match=r"CelebA is not whole in .* \(list_attr_celeba.txt, list_eval_partition.txt mis"
    ):
        opened("CelebA", tmp_path / "data")
    for name in ("list_attr_celeba.txt", "list_eval_partition.txt"):
        shutil.copy(made / name, place / name)
    with pytest.raises(InputError, match=r"img_align_celeba.zip is damaged, or another file than it should be"):
        opened("CelebA", tmp_path / "data")
    remotes = tuple(replace(remote, digest="") for remote in KNOWN_SETS["CelebA"].files)
    monkeypatch.setitem(KNOWN_SETS, "CelebA", replace(KNOWN_SETS["CelebA"], files=remotes, unpacked=0))
    expected = opened("CelebA", tmp_path / "made")
    source = opened("CelebA", tmp_path / "data")
    assert source.fingerprint == expected.fingerprint
    assert (source.target, source.targets.shape, source.targets[0].tolist()) == ("labels", (7, 4), [1.0] * 4)


def test_a_folder_that_its_archive_calls_otherwise_gets_torchvisions_name(
    tmp_path: Path, server: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known_trees.species(tmp_path / "made", "2021_train_mini")
    base = tmp_path / "made" / "inaturalist"
    expected = opened("INaturalist2021Mini", tmp_path / "made")
    (base / "2021_train_mini").rename(base / "train_mini")
    (base / "2021_valid").rename(base / "val")
    files = {"2021_train_mini.tgz": packed("tar", base, "train_mini"), "2021_valid.tgz": packed("tar", base, "val")}
    put(server[0], files)
    serve(monkeypatch, "INaturalist2021Mini", files, server[1])
    fetched = opened("INaturalist2021Mini", tmp_path / "data")
    assert (fetched.fingerprint, set(fetched.parts)) == (expected.fingerprint, {"train", "validation"})
    names = sorted(path.name for path in (tmp_path / "data" / "inaturalist").iterdir())
    assert names == ["2021_train_mini", "2021_train_mini.tgz", "2021_valid", "2021_valid.tgz"]
