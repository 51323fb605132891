"""Sets that torchvision knows by name: each as torchvision leaves it on the disk gives the samples that torchvision gives."""

from __future__ import annotations

import inspect
import io
import pickle
import shutil
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
import torchvision.datasets
from PIL import Image

from tests.training.data import known_trees
from tests.training.data.known_trees import OWN_FORMS, TREES, text
from tests.training.data.mat_files import mat
from tests.training.data.test_torchvision_set import opened, put, serve
from training.config.sections.data.torchvision_sets import TorchvisionDataset, TorchvisionSegmentationDataset
from training.data.source import Opening, Source
from training.data.sources import open_source
from training.data.torchvision_sets import KNOWN_SETS, MASKED
from training.errors import InputError, TrainingError

SPLITS = {"train": "train", "validation": "val", "test": "test"}
SETTINGS: dict[str, dict[str, Any]] = {
    "EMNIST": {"emnist_split": "letters"},
    "DTD": {"partition": 3},
    "FGVCAircraft": {"annotation_level": "family"},
}
"""What the small ones consist of."""


def theirs(name: str, root: Path, part: str) -> Any:
    """The part as torchvision opens it."""
    options: dict[str, Any] = {"split": SPLITS[part]}
    if name in ("QMNIST", "USPS"):
        options = {"train": part == "train"}
    if name == "EMNIST":
        options = {"split": "letters", "train": part == "train"}
    if name == "OxfordIIITPet" and part == "train":
        options = {"split": "trainval"}
    if name == "Country211" and part == "validation":
        options = {"split": "valid"}
    if name in ("Caltech101", "Caltech256", "SUN397"):
        options = {}
    if name in ("ImageNet", "Places365"):
        root /= name.lower()
    if name == "Places365":
        options = {"split": {"train": "train-standard", "validation": "val"}[part], "small": True}
    if name == "CelebA" and part == "validation":
        options = {"split": "valid"}
    if name.startswith("INaturalist"):
        version = name.removeprefix("INaturalist").replace("2021Mini", "2021_train_mini")
        version = {"2021": "2021_train"}.get(version, version) if part == "train" else "2021_valid"
        name, root, options = "INaturalist", root / "inaturalist", {"version": version}
    if name in ("LFWPeople", "Omniglot", "SEMEION"):
        options = {"download": False}
    more: dict[str, dict[str, Any]] = {"DTD": {"partition": 3}, "FGVCAircraft": {"annotation_level": "family"}}
    return getattr(torchvision.datasets, name)(root, **options, **more.get(name, {}))


def names_of(reference: Any) -> tuple[Any, ...]:
    """What torchvision calls its classes; none where it has no names."""
    for each in ("classes", "categories", "all_categories", "_characters", "attr_names", "class_to_idx"):
        if names := getattr(reference, each, None):
            return tuple(name for name in names if name)  # after a space at the end of a line, one without letters
    return ()


@pytest.fixture
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """torchvision does not ask for the digests of the real files, has what it would unpack of ImageNet, and scipy, which reads
    the arrays written here."""
    for each in ("SVHN", "STL10", "Flowers102", "CelebA", "LFWPeople", "Omniglot", "SEMEION", "Places365"):
        monkeypatch.setattr(getattr(torchvision.datasets, each), "_check_integrity", lambda *_: True)
    monkeypatch.setattr("training.data.torchvision_sets.from_torchvision.require_whole", lambda *_: None)
    monkeypatch.setattr("torchvision.datasets.fer2013.check_integrity", lambda *_, **__: True)
    monkeypatch.setattr(torchvision.datasets.ImageNet, "parse_archives", lambda _: None)
    names = {name: name for name in ("n01440764", "n01443537")}
    monkeypatch.setattr("torchvision.datasets.imagenet.load_meta_file", lambda _: (names, []))

    def loadmat(path: Any, squeeze_me: bool = False) -> dict[str, Any]:
        name = Path(path).name
        if name.startswith("cars"):
            return known_trees.CARS[Path(path).stem]
        arrays = known_trees.FLOWERS.get(name) or known_trees.SVHN[name.partition("_")[0]]
        return {key: array.squeeze() if squeeze_me else array.copy() for key, array in arrays.items()}

    scipy, io = ModuleType("scipy"), ModuleType("scipy.io")
    scipy.io, io.loadmat = io, loadmat  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "scipy", scipy)
    monkeypatch.setitem(sys.modules, "scipy.io", io)


def samples(source: Source, rows: torch.Tensor) -> list[tuple[bytes, Any]]:
    return [
        (source.read(rows[i : i + 1]).numpy().tobytes(), source.targets[rows[i]].tolist()) for i in range(len(rows))
    ]


@pytest.mark.parametrize("name", [*TREES, *OWN_FORMS])
def test_a_folder_of_torchvisions_gives_the_same_samples(name: str, tmp_path: Path, unchecked: None) -> None:
    (TREES | OWN_FORMS)[name](tmp_path)
    source = opened(name, tmp_path, download=False, **SETTINGS.get(name, {}))
    parts = ({"train"}, {"train", "test"}, {"train", "validation"}, {"train", "validation", "test"})
    assert set(source.parts) in parts
    for part, rows in source.parts.items():
        reference = theirs(name, tmp_path, part)
        classes, order = names_of(reference), source.classes
        if name == "Omniglot":  # whose characters torchvision takes in any order, too, and in gray
            assert sorted(order) == sorted(classes)
            reference = [(image.convert("RGB"), order.index(classes[label])) for image, label in reference]
        elif classes and name != "QMNIST":  # "7 - seven" there
            assert order == classes
        expected = [(np.asarray(image).tobytes(), torch.as_tensor(label).tolist()) for image, label in reference]
        found = samples(source, rows)
        if name in ("SUN397", "Omniglot") or name.startswith("INaturalist"):  # which torchvision takes in any order
            expected, found = sorted(expected), sorted(found)
        assert found == expected
    assert len({data for data, _ in samples(source, torch.arange(len(source.targets)))}) > 1
    assert source.skipped == ()
    assert source.fingerprint
    again = pickle.loads(pickle.dumps(source))
    assert torch.equal(again.read(torch.arange(3)), source.read(torch.arange(3)))


def packed(form: str, base: Path, *folders: str) -> bytes:
    """An archive of what lies in ``folders`` of ``base``."""
    stream = io.BytesIO()
    paths = [path for folder in folders for path in [base / folder, *(base / folder).rglob("*")] if path.is_file()]
    if form == "zip":
        with zipfile.ZipFile(stream, "w") as archive:
            for path in paths:
                archive.write(path, path.relative_to(base))
    else:
        with tarfile.open(fileobj=stream, mode="w:gz") as bundle:
            for path in paths:
                bundle.add(path, path.relative_to(base))
    return stream.getvalue()


def test_an_archive_within_an_archive_is_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known_trees.caltech101(tmp_path / "made")
    inner = tmp_path / "outer" / "caltech-101" / "101_ObjectCategories.tar.gz"
    inner.parent.mkdir(parents=True)
    inner.write_bytes(packed("tar", tmp_path / "made" / "caltech101", "101_ObjectCategories"))
    files = {"caltech-101.zip": packed("zip", tmp_path / "outer", "caltech-101")}
    put(tmp_path / "data" / "caltech101", files)
    serve(monkeypatch, "Caltech101", files)
    assert opened("Caltech101", tmp_path / "data").classes == ("Faces", "ant")
    assert sorted(path.name for path in (tmp_path / "data" / "caltech101").iterdir()) == [
        "101_ObjectCategories",
        "caltech-101.zip",
    ]


def test_a_set_of_several_archives_is_fetched_with_its_test_part(
    tmp_path: Path, server: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    known_trees.signs(tmp_path / "made")
    base = tmp_path / "made" / "gtsrb"
    files = {
        "GTSRB-Training_fixed.zip": packed("zip", base, "GTSRB/Training"),
        "GTSRB_Final_Test_Images.zip": packed("zip", base, "GTSRB/Final_Test"),
        "GTSRB_Final_Test_GT.zip": packed("zip", base, "GT-final_test.csv"),
    }
    put(server[0], files)
    serve(monkeypatch, "GTSRB", files, server[1])
    expected = opened("GTSRB", tmp_path / "made")
    fetched = opened("GTSRB", tmp_path / "data")
    assert (fetched.fingerprint, set(fetched.parts)) == (expected.fingerprint, {"train", "test"})
    shutil.rmtree(tmp_path / "data" / "gtsrb" / "GTSRB" / "Final_Test")
    (tmp_path / "data" / "gtsrb" / "GT-final_test.csv").unlink()
    for name in ("GTSRB_Final_Test_Images.zip", "GTSRB_Final_Test_GT.zip"):
        (tmp_path / "data" / "gtsrb" / name).unlink()
    monkeypatch.setattr("pooch.retrieve", lambda *_, **__: pytest.fail("something was fetched"))
    assert set(opened("GTSRB", tmp_path / "data").parts) == {"train"}  # as torchvision leaves it for split="train"


def masked(name: str, root: Path, **settings: Any) -> Source:
    dataset = TorchvisionSegmentationDataset.model_validate(
        {"name": name, "path": str(root), "download": False} | settings
    )
    return open_source(dataset, Opening(workers=0))


def test_masks_of_voc_are_torchvisions(tmp_path: Path) -> None:
    known_trees.voc(tmp_path)
    source = masked("VOC2012", tmp_path)
    assert (source.target, source.shape, len(source.classes), source.classes[15]) == ("mask", (3, 24, 20), 21, "person")
    for part, split in (("train", "train"), ("validation", "val")):
        reference = torchvision.datasets.VOCSegmentation(tmp_path, year="2012", image_set=split)
        found = source.read(source.parts[part]).numpy()
        assert len(found) == len(reference)
        for sample, (image, mask) in zip(found, reference, strict=True):
            assert np.array_equal(sample[..., :3], np.asarray(image))
            assert np.array_equal(sample[..., 3], np.asarray(mask))
            assert set(sample[:2, :, 3].ravel()) == {255}


def test_masks_of_pets_are_torchvisions(tmp_path: Path) -> None:
    known_trees.pets(tmp_path)
    source = masked("OxfordIIITPet", tmp_path)
    assert source.classes == ("pet", "background")
    for part, split in (("train", "trainval"), ("test", "test")):
        reference = torchvision.datasets.OxfordIIITPet(tmp_path, split=split, target_types="segmentation")
        found = source.read(source.parts[part]).numpy()
        for sample, (image, mask) in zip(found, reference, strict=True):
            assert np.array_equal(sample[..., :3], np.asarray(image))
            assert np.array_equal(sample[..., 3], np.array([99, 0, 1, 255])[np.asarray(mask)])


def test_masks_of_streets_are_torchvisions(tmp_path: Path) -> None:
    known_trees.streets(tmp_path)
    for path in (tmp_path, tmp_path / "cityscapes"):
        source = masked("Cityscapes", path)
        assert (len(source.classes), source.classes[13], set(source.parts)) == (19, "car", {"train", "validation"})
    known = [kind for kind in torchvision.datasets.Cityscapes.classes if kind.train_id not in (255, -1)]
    assert source.classes == tuple(kind.name for kind in sorted(known, key=lambda kind: kind.train_id))
    numbers = np.array([kind.train_id for kind in torchvision.datasets.Cityscapes.classes[:34]], np.uint8)
    for part, split in (("train", "train"), ("validation", "val")):
        theirs = torchvision.datasets.Cityscapes(tmp_path / "cityscapes", split=split, target_type="semantic")
        expected = [np.dstack([np.asarray(image), numbers[np.asarray(mask)]]).tobytes() for image, mask in theirs]
        found = [source.read(source.parts[part][i : i + 1]).numpy().tobytes() for i in range(4)]
        assert sorted(found) == sorted(expected)  # torchvision takes the cities in any order


def test_voc_2007_has_a_test_part_where_its_archive_was_fetched(tmp_path: Path) -> None:
    known_trees.voc(tmp_path / "two", 2007)
    assert set(masked("VOC2007", tmp_path / "two").parts) == {"train", "validation"}
    with pytest.raises(InputError, match="VOC2007 is not whole in ") as caught:
        masked("VOC2007", tmp_path / "two", validation="test")
    assert "put VOCtest_06-Nov-2007.tar there" in caught.value.advice
    known_trees.voc(tmp_path / "three", 2007, ("train", "val", "test"))
    assert set(masked("VOC2007", tmp_path / "three").parts) == {"train", "validation", "test"}


def test_a_mask_that_is_gone_or_of_another_size_leaves_its_image_out(tmp_path: Path) -> None:
    known_trees.voc(tmp_path)
    masks = tmp_path / "VOCdevkit" / "VOC2012" / "SegmentationClass"
    (masks / "2007_0000.png").unlink()
    Image.new("L", (5, 5)).save(masks / "2007_0001.png")
    source = masked("VOC2012", tmp_path)
    assert len(source.parts["train"]) == 1
    reasons = {skipped.path.rpartition("/")[2]: skipped.reason for skipped in source.skipped}
    assert "there is no such file" in reasons["2007_0000.jpg"]
    assert "20 × 24 pixels, but its mask 5 × 5" in reasons["2007_0001.jpg"]


def test_addresses_and_digests_stand_in_torchvisions_source() -> None:
    own = {"CIFAR10", "CIFAR100", "FGVCAircraft", "Cityscapes"}  # in binary form; without a digest; put together there
    for called, known in (KNOWN_SETS | MASKED).items():
        name = "INaturalist" if called.startswith("INaturalist") else called
        theirs = torchvision.datasets.VOCSegmentation if name.startswith("VOC") else getattr(torchvision.datasets, name)
        source = inspect.getsource(sys.modules[theirs.__module__])
        for remote in known.files:
            assert name in own or remote.digest.removeprefix("md5:") in source
            published = remote.urls[0].rpartition("/")[2] if remote.urls else remote.name
            assert name in own or published.removesuffix(".zip") in source, remote.name
            assert name == "INaturalist" or remote.name == published
            assert bool(remote.urls) != bool(known.by_hand)
    assert set(KNOWN_SETS) == set(TorchvisionDataset.model_fields["name"].annotation.__args__)  # type: ignore[union-attr]
    assert set(MASKED) == set(TorchvisionSegmentationDataset.model_fields["name"].annotation.__args__)  # type: ignore[union-attr]


def test_what_a_list_names_is_left_out_unless_it_is_a_file_of_the_set(tmp_path: Path) -> None:
    known_trees.textures(tmp_path)
    base = tmp_path / "dtd" / "dtd"
    known_trees.photograph(tmp_path / "secret.jpg")
    lines = (base / "labels" / "train3.txt").read_text().split()
    text(base / "labels" / "train3.txt", *lines, "woven/gone.jpg", "woven/../../../../secret.jpg")
    source = opened("DTD", tmp_path, partition=3)
    assert len(source.parts["train"]) == len(lines)
    reasons = sorted(skipped.reason for skipped in source.skipped)
    assert reasons == ["lies outside of the folder of the images", "there is no such file"]


@pytest.mark.parametrize(
    ("name", "file", "content", "message"),
    [
        (
            "FGVCAircraft",
            "fgvc-aircraft-2013b/data/images_family_val.txt",
            "10 Airship\n",
            "does not hold FGVCAircraft .*Airship",
        ),
        (
            "OxfordIIITPet",
            "oxford-iiit-pet/annotations/test.txt",
            "Bengal_3 three\n",
            "names no class, 'Bengal_3 three'",
        ),
        ("GTSRB", "gtsrb/GT-final_test.csv", "Filename;ClassId\na.ppm;9\n", "names no class, 'a.ppm 9'"),
        ("Food101", "food-101/meta/test.json", "[1]", "does not hold Food101 as it was published .*keys"),
        ("Food101", "food-101/meta/train.json", "{", "does not hold Food101 as it was published .*JSON"),
        ("Flowers102", "flowers-102/setid.mat", "MATLAB", "is no MATLAB file"),
        ("SVHN", "test_32x32.mat", "", "is no MATLAB file"),
        ("USPS", "usps.t.bz2", "BZ", "usps.* is damaged, or another file than it should be"),
        ("SEMEION", "semeion.data", "1 0 1\n", "does not hold SEMEION as it was published .*corrupted"),
        ("FER2013", "fer2013/fer2013.csv", "emotion,pixels,Usage\n1,2 3,Training\n", "line 2: is no class with 48"),
        ("FER2013", "fer2013/fer2013.csv", "emotion,pixels,Usage\n", "holds no image to train on"),
        ("CelebA", "celeba/list_attr_celeba.txt", "1\nBald Young\n000001.jpg 1 2\n", "'000001.jpg 1 2'"),
        ("CelebA", "celeba/list_eval_partition.txt", "000001.jpg 3\n", "'000001.jpg is of no part'"),
        ("StanfordCars", "stanford_cars/devkit/cars_meta.mat", "MATLAB", "is no MATLAB file"),
        ("Places365", "places365/categories_places365.txt", "/a/abbey 1\n", "are not numbered from 0"),
        ("Places365", "places365/places365_val.txt", "a.jpg 2\n", "names no class, 'a.jpg 2'"),
        ("LFWPeople", "lfw-py/people.txt", "1\nNobody\t2\n", "names no class, 'Nobody"),
        ("INaturalist2018", "inaturalist/2018/Aves/x/a.jpg", "", "names no class, 'Aves/x'"),
        ("INaturalist2021", "inaturalist/2021_valid/moss/a.jpg", "", "names no class, 'moss'"),
        ("QMNIST", "QMNIST/raw/qmnist-test-labels-idx2-int", "", "is empty"),
        ("STL10", "stl10_binary/test_y.bin", "\1\2", "has not one class for each of 4 images"),
        ("STL10", "stl10_binary/test_y.bin", "\0\1\1\1", "has a class -1"),
        ("EMNIST", "EMNIST/raw/emnist-letters-train-labels-idx1-ubyte", "", "is empty"),
    ],
)
def test_a_damaged_file_is_named(name: str, file: str, content: str, message: str, tmp_path: Path) -> None:
    (TREES | OWN_FORMS)[name](tmp_path)
    (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / file).write_text(content)
    with pytest.raises(InputError, match=message):
        opened(name, tmp_path, download=False, **SETTINGS.get(name, {}))


def test_a_file_that_changes_while_it_is_trained_on_is_noticed(tmp_path: Path) -> None:
    known_trees.svhn(tmp_path)
    sent = pickle.dumps(opened("SVHN", tmp_path))
    assert len(sent) < 10_000
    mat(tmp_path / "test_32x32.mat", known_trees.SVHN["train"])
    with pytest.raises(TrainingError, match="was good when the run began, but has changed"):
        pickle.loads(sent).read(torch.arange(3))
