"""Datasets by name: found on the disk, or fetched whole from a server, never half and never without a look at the digest."""

from __future__ import annotations

import hashlib
import io
import pickle
import tarfile
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.training.data.conftest import image, write_idx
from training.config.sections.data.torchvision_sets import TorchvisionDataset
from training.data.source import Opening, Source
from training.data.sources import open_source
from training.data.torchvision_sets import KNOWN_SETS
from training.errors import InputError, TrainingError


def opened(
    name: str, path: Path | str, *, check: bool = True, told: list[str] | None = None, **settings: Any
) -> Source:
    say = (lambda text, fraction: told.append(text)) if told is not None else (lambda text, fraction: None)
    dataset = TorchvisionDataset.model_validate({"name": name, "path": str(path)} | settings)
    return open_source(dataset, Opening(check=check, workers=0, keep=lambda size: True, report_progress=say))


def serve(
    monkeypatch: pytest.MonkeyPatch, name: str, files: dict[str, bytes], *addresses: str, digest: str = ""
) -> None:
    """Let ``name`` consist of ``files``, to be had at ``addresses``."""
    remotes = tuple(
        replace(
            remote,
            urls=tuple(address + remote.name for address in addresses),
            digest=digest or f"md5:{hashlib.md5(files[remote.name]).hexdigest()}",
        )
        for remote in KNOWN_SETS[name].files
    )
    monkeypatch.setitem(KNOWN_SETS, name, replace(KNOWN_SETS[name], files=remotes, unpacked=0, bytes=0))


def mnist_files(folder: Path) -> dict[str, bytes]:
    """A small set in MNIST's form."""
    for prefix, count in (("train", 30), ("t10k", 12)):
        write_idx(folder, prefix, count, gzipped=True)
    return {remote.name: (folder / remote.name).read_bytes() for remote in KNOWN_SETS["MNIST"].files}


def put(folder: Path, files: dict[str, bytes]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)


def test_addresses_and_digests_are_torchvisions() -> None:
    datasets = pytest.importorskip("torchvision.datasets")
    for name in ("MNIST", "FashionMNIST", "KMNIST"):
        theirs = getattr(datasets, name)
        for remote, (file, digest) in zip(KNOWN_SETS[name].files, theirs.resources, strict=True):
            assert (remote.name, remote.digest) == (file, f"md5:{digest}")
            assert list(remote.urls) == [mirror + file for mirror in theirs.mirrors]
    address, digest = datasets.Imagenette._ARCHIVES["160px"]
    assert (KNOWN_SETS["Imagenette"].files[0].urls, KNOWN_SETS["Imagenette"].files[0].digest) == (
        (address,),
        f"md5:{digest}",
    )
    assert KNOWN_SETS["Imagenette"].classes == tuple(
        names[0] for _, names in sorted(datasets.Imagenette._WNID_TO_CLASS.items())
    )
    assert KNOWN_SETS["FashionMNIST"].classes == tuple(datasets.FashionMNIST.classes)
    assert KNOWN_SETS["KMNIST"].classes == tuple(datasets.KMNIST.classes)


def test_the_real_mnist_is_used_where_it_lies(mnist: Path, tmp_path: Path) -> None:
    (tmp_path / "MNIST").mkdir()
    (tmp_path / "MNIST" / "raw").symlink_to(mnist)
    source = opened("MNIST", tmp_path, download=False)
    assert {part: len(rows) for part, rows in source.parts.items()} == {"train": 60_000, "test": 10_000}
    assert opened("MNIST", mnist, download=False).fingerprint == source.fingerprint


def test_what_is_missing_is_fetched_once_with_its_progress(
    tmp_path: Path, server: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, address = server
    files = mnist_files(tmp_path / "made")
    serve(monkeypatch, "FashionMNIST", files, "http://127.0.0.1:9/", address)
    put(folder, files)
    told: list[str] = []
    root = tmp_path / "data"
    source = opened("FashionMNIST", root, told=told)
    assert any(text.startswith("downloading train-images-idx3-ubyte.gz: ") for text in told)
    assert sorted(path.name for path in root.rglob("*") if path.is_file()) == sorted(files)
    assert (root / "FashionMNIST" / "raw" / "train-images-idx3-ubyte.gz").is_file()
    for file in folder.iterdir():
        file.unlink()
    again = opened("FashionMNIST", root)
    assert torch.equal(source.read(torch.arange(42)), again.read(torch.arange(42)))
    assert source.fingerprint == again.fingerprint


def test_class_names_are_those_of_the_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "FashionMNIST" / "raw", files := mnist_files(tmp_path / "made"))
    serve(monkeypatch, "FashionMNIST", files)
    monkeypatch.setitem(KNOWN_SETS, "FashionMNIST", replace(KNOWN_SETS["FashionMNIST"], classes=("a", "b", "c")))
    assert opened("FashionMNIST", tmp_path).classes == ("a", "b", "c")


@pytest.mark.parametrize("fault", ["offline", "not there", "another file"])
def test_what_cannot_be_fetched_leaves_nothing(
    tmp_path: Path, server: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    folder, address = server
    files = mnist_files(tmp_path / "made")
    if fault == "another file":
        put(folder, dict.fromkeys(files, b"another file"))
    serve(monkeypatch, "MNIST", files, "http://127.0.0.1:9/" if fault == "offline" else address)
    said = {
        "offline": "refused",
        "not there": "404|Not Found|not found",
        "another file": "gives another file than it should",
    }
    with pytest.raises(InputError, match=f"train-images.* cannot be downloaded .*({said[fault]})") as caught:
        opened("MNIST", tmp_path / "data")
    assert "Connect to the internet" in caught.value.advice
    assert not [path for path in (tmp_path / "data").rglob("*") if path.is_file()]


@pytest.mark.parametrize("come", [1, 2, 3])
def test_a_download_that_ended_in_between_goes_on(
    tmp_path: Path, server: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, come: int
) -> None:
    folder, address = server
    files = mnist_files(tmp_path / "made")
    names = list(files)
    monkeypatch.setattr("training.data.torchvision_sets.place.own_folder", lambda: tmp_path / "own")
    raw = tmp_path / "own" / "MNIST" / "raw"
    put(raw, {name: files[name] for name in names[:come]})
    with pytest.raises(InputError, match=rf"MNIST is not whole in .*raw\..* put {', '.join(names[come:])} there"):
        opened("MNIST", "", download=False)
    with pytest.raises(InputError, match=rf"is not whole .* \({', '.join(names[come:])}\) when the run starts"):
        opened("MNIST", "", check=False)
    serve(monkeypatch, "MNIST", files, "http://127.0.0.1:9/")
    with pytest.raises(InputError, match=f"{names[come]} is not in .*{', '.join(names[come + 1 :])}"):
        opened("MNIST", "")
    serve(monkeypatch, "MNIST", files, address)
    put(folder, {name: files[name] for name in names[come:]})  # what is here is not fetched again
    source = opened("MNIST", "")
    assert {part: len(rows) for part, rows in source.parts.items()} == {"train": 30, "test": 12}


def test_a_folder_without_a_test_part_is_used_unless_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = mnist_files(tmp_path / "made")
    put(tmp_path / "raw", {name: data for name, data in files.items() if name.startswith("train")})
    serve(monkeypatch, "MNIST", files, "http://127.0.0.1:9/")
    assert set(opened("MNIST", tmp_path).parts) == {"train"}
    with pytest.raises(InputError, match=r"t10k-images.* cannot be downloaded .*; t10k-labels.* is missing, too"):
        opened("MNIST", tmp_path, validation="test")


def test_nothing_is_fetched_for_a_preview_or_against_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pooch.retrieve", lambda *_, **__: pytest.fail("something was fetched"))
    with pytest.raises(InputError, match=r"MNIST is not in .* yet") as caught:
        opened("MNIST", tmp_path, check=False)
    assert "downloaded (11.6 MB) when the run starts" in caught.value.advice
    (tmp_path / "cifar-10-batches-py").mkdir()
    with pytest.raises(InputError, match="cifar-10-batches-py holds Python pickles, which may be programs"):
        opened("CIFAR10", tmp_path, download=False)


def test_a_damaged_archive_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = {"cifar-10-binary.tar.gz": archive("cifar-10-batches-bin", cifar(1)[0])}
    serve(monkeypatch, "CIFAR10", packed)
    put(tmp_path, {name: data[:-1] for name, data in packed.items()})
    with pytest.raises(InputError, match=r"cifar-10-binary\.tar\.gz is damaged, or another file"):
        opened("CIFAR10", tmp_path)
    put(tmp_path, packed)
    with pytest.raises(InputError, match="is not unpacked yet"):
        opened("CIFAR10", tmp_path, check=False)
    assert len(opened("CIFAR10", tmp_path).targets) == 48


def cifar(labels: int) -> tuple[dict[str, bytes], np.ndarray, np.ndarray]:
    """The files of a small CIFAR-10 (one label) or CIFAR-100 (two), its images (n, 32, 32, 3) and classes in their order."""
    generator = np.random.default_rng(labels)
    names = (
        [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]
        if labels == 1
        else ["train.bin", "test.bin"]
    )
    files, images, classes = {}, [], []
    for name in names:
        planes = generator.integers(0, 256, (8, 3, 32, 32), dtype=np.uint8)
        own = generator.integers(0, 10, (8, labels), dtype=np.uint8)
        files[name] = np.concatenate([own, planes.reshape(8, -1)], axis=1).tobytes()
        images.append(planes.transpose(0, 2, 3, 1))
        classes.append(own[:, -1])
    if labels == 2:
        files["fine_label_names.txt"] = "\n".join(f"fine{number}" for number in range(10)).encode()
    return files, np.concatenate(images), np.concatenate(classes)


def archive(folder: str, files: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as bundle:
        for name, data in files.items():
            entry = tarfile.TarInfo(f"{folder}/{name}")
            entry.size = len(data)
            bundle.addfile(entry, io.BytesIO(data))
    return stream.getvalue()


@pytest.mark.parametrize(("name", "labels"), [("CIFAR10", 1), ("CIFAR100", 2)])
def test_cifar_comes_in_its_binary_form(
    tmp_path: Path, server: tuple[Path, str], monkeypatch: pytest.MonkeyPatch, name: str, labels: int
) -> None:
    files, images, classes = cifar(labels)
    known = KNOWN_SETS[name]
    packed = {known.files[0].name: archive(known.files[0].makes, files)}
    put(server[0], packed)
    serve(monkeypatch, name, packed, server[1])
    source = opened(name, tmp_path / "data")
    everything = torch.arange(len(classes))
    assert np.array_equal(source.read(everything).numpy(), images)
    assert source.targets.tolist() == classes.tolist()
    assert source.parts["test"].tolist() == list(range(len(classes) - 8, len(classes)))
    assert source.classes[3] == ("cat" if labels == 1 else "fine3")
    sent = pickle.dumps(source)
    assert len(sent) < 10_000
    assert torch.equal(pickle.loads(sent).read(everything), source.read(everything))
    assert np.array_equal(source.read_all().numpy(), images)
    path = tmp_path / "data" / known.files[0].makes / ("test_batch.bin" if labels == 1 else "test.bin")
    path.write_bytes(path.read_bytes()[:-1] + b"\x07")
    with pytest.raises(TrainingError, match="was good when the run began, but has changed"):
        pickle.loads(sent).read(everything)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(InputError, match="is cut off or damaged"):
        opened(name, tmp_path / "data")


def test_an_archive_of_images_becomes_a_folder(
    tmp_path: Path, server: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as packed:
        for number, kind in enumerate(("Forest", "River") * 4):
            data = io.BytesIO()
            image(number).save(data, "PNG")
            packed.writestr(f"2750/{kind}/{number}.png", data.getvalue())
    put(server[0], {"EuroSAT.zip": stream.getvalue()})
    serve(monkeypatch, "EuroSAT", {"EuroSAT.zip": stream.getvalue()}, server[1])
    source = opened("EuroSAT", tmp_path / "data", image_size=8)
    assert (source.classes, source.shape, len(source.targets)) == (("Forest", "River"), (3, 8, 8), 8)
    assert (tmp_path / "data" / "eurosat" / "2750" / "River").is_dir()


def test_an_archive_cannot_reach_out_of_its_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packed = {"cifar-10-binary.tar.gz": archive("cifar-10-batches-bin", {"../../evil.txt": b"x"})}
    put(tmp_path / "data", packed)
    serve(monkeypatch, "CIFAR10", packed)
    with pytest.raises(InputError, match="cannot be unpacked"):
        opened("CIFAR10", tmp_path / "data")
    assert not list(tmp_path.rglob("evil.txt"))
