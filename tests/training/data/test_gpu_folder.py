"""A folder decoded by ``loader.decoder = "gpu"``, from its opening to a run's record; the device is the processor's.

``Brighter`` is a decoder whose pixels nobody mistakes for another's: whatever it should have decoded shows it.
"""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.training.commands import Captured, json_line
from tests.training.data.conftest import MakeConfig, picture
from training.cli import main
from training.config.dataset import ImageFolderDataset
from training.data.cache_room import CacheWish
from training.data.gpu_decode import GpuDecoder
from training.data.kept import KeptData
from training.data.source import Opening, Source, silent
from training.data.sources import open_source
from training.errors import ConfigError, TrainingError

PREPARE = importlib.import_module("training.data.prepare")  # the module, not the function of that name
FROM_CACHE = "they came decoded from the cache"
NEEDED = "loader.decoder: gpu needs an NVIDIA GPU, and this run computes on the processor."


class Brighter(GpuDecoder):
    def __init__(self) -> None:
        super().__init__(torch.device("cpu"), threads=2)
        plain = self._decode_jpeg
        self._decode_jpeg = lambda *given, **named: [image + 40 for image in plain(*given, **named)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes of 40 JPEGs, darker than half, one of them a PNG and one broken."""
    made = tmp_path / "pictures"
    for number, name in enumerate(("apple", "bear")):
        (made / name).mkdir(parents=True)
        for index in range(40):
            dark = picture(100 * number + index, (40, 36)).point([value // 2 for value in range(256)] * 3)
            dark.save(made / name / f"{index:03}.jpg", quality=95)
    (made / "bear" / "007.jpg").write_bytes(b"\xff\xd8 broken")
    picture(7, (40, 36)).save(made / "apple" / "009.jpg", "PNG")
    time.sleep(0.1)  # files written this very moment are not kept in a cache
    return made


@pytest.fixture
def wish(tmp_path: Path) -> CacheWish:
    return CacheWish("on", tmp_path / "cache", 10**9)


def opened(
    folder: Path,
    decoder: GpuDecoder | None,
    wish: CacheWish | None = None,
    *,
    keep: bool = False,
    size: int | None = 32,
) -> Source:
    opening = Opening(keep=lambda _: keep, workers=0, cache=wish, decoder=decoder)
    return open_source(ImageFolderDataset(path=str(folder), image_size=size), opening)


def pixels(source: Source) -> Tensor:
    return source.read(torch.arange(len(source.targets))).int()


@pytest.mark.parametrize("size", [32, None])
@pytest.mark.parametrize("keep", [True, False])
def test_the_same_samples_as_the_processor_finds(folder: Path, keep: bool, size: int | None) -> None:
    decoder = GpuDecoder(torch.device("cpu"), threads=2)
    plain, source = opened(folder, None, size=size), opened(folder, decoder, keep=keep, size=size)
    assert decoder.told() == "the GPU decoded 78 pictures, the processor 1 other"
    assert source.fingerprint == plain.fingerprint
    assert source.skipped == plain.skipped
    assert len(source.skipped) == 1
    assert source.reading == ("memory" if keep else "files")
    assert (pixels(source) - pixels(plain)).abs().max() <= 2


def test_pictures_that_turn_out_to_differ_in_size_are_fitted(folder: Path) -> None:
    picture(1, (30, 50)).save(folder / "bear" / "038.jpg")  # not one of those whose size is looked at first
    source = opened(folder, Brighter(), keep=True, size=None)
    assert source.shape == (3, 128, 128)
    assert source.fingerprint == opened(folder, None, size=None).fingerprint


def test_no_picture_of_a_run_comes_from_another_decoder(folder: Path, wish: CacheWish) -> None:
    """Resident, read anew, out of the cache, half of it, or where the cache is damaged: the same pixels to the bit."""
    plain = pixels(opened(folder, None, wish))
    resident = pixels(opened(folder, Brighter(), keep=True))
    assert torch.equal(resident[9], plain[9])  # the PNG, which the processor decodes either way
    assert (resident - plain)[torch.arange(79) != 9].float().mean() > 35
    assert torch.equal(pixels(opened(folder, Brighter())), resident)

    made = opened(folder, Brighter(), wish)
    assert made.supply.startswith("they were decoded now")  # not taken from the processor's cache
    again = opened(folder, Brighter(), wish)
    assert (again.supply, again.reading) == (FROM_CACHE, "cache")
    assert torch.equal(pixels(made), resident)
    assert torch.equal(pixels(again), resident)
    back = opened(folder, None, wish)
    assert back.supply == FROM_CACHE
    assert torch.equal(pixels(back), plain)

    picture(1001, (40, 36)).save(folder / "apple" / "002.jpg")
    time.sleep(0.1)
    assert opened(folder, Brighter(), wish).supply.startswith("1 of 79 were decoded now")
    source = opened(folder, Brighter(), wish)
    expected = pixels(opened(folder, Brighter()))
    for kept in wish.home.glob("*/pixels-*.bin"):
        data = np.frombuffer(kept.read_bytes(), np.uint8).copy()
        data[: len(data) // 2] ^= 1
        kept.write_bytes(data.tobytes())
    assert torch.equal(pixels(source), expected)
    assert source.take_notices()


def test_a_picture_that_changes_meanwhile_is_named(folder: Path) -> None:
    source = opened(folder, Brighter())
    picture(5, (40, 36)).save(folder / "apple" / "020.jpg")
    with pytest.raises(TrainingError, match=r"020\.jpg is not the picture it was .* \(its content has changed\)"):
        pixels(source)
    (folder / "apple" / "003.jpg").write_bytes(b"")
    with pytest.raises(TrainingError, match=r"003\.jpg is not the picture it was .* \(empty file\)"):
        pixels(source)


# ------------------------------------------------------------------------------------------------------------- runs


@pytest.fixture
def config(folder: Path) -> Path:
    path = folder.parent / "config.toml"
    path.write_text(
        f'[dataset]\nkind = "image_folder"\npath = "{folder.as_posix()}"\nimage_size = 32\n[loop]\nepochs = 2\n'
        'batch_size = 8\n[model]\nkind = "mlp"\nhidden = [8]\n[precision]\nthreads = 1\n[loader]\ndecoder = "gpu"\n'
    )
    return path


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """A machine whose GPU is this ``Brighter``."""
    with monkeypatch.context() as machine:
        machine.setattr(PREPARE, "gpu_decoder", lambda device, threads: Brighter())
        yield machine


def report(record: dict[str, Any]) -> dict[str, Any]:
    lines = (Path(record["folder"]) / "events.jsonl").read_text().splitlines()
    (found,) = (event["report"]["batches"] for event in map(json.loads, lines) if "report" in event)
    return dict(found)


def weights(record: dict[str, Any]) -> bytes:
    return (Path(record["last_checkpoint"]) / "model.safetensors").read_bytes()


def test_a_run_says_who_decoded_and_is_the_same_resident_and_streamed(
    config: Path, capsys: Captured, lent: pytest.MonkeyPatch
) -> None:
    assert main(["run", str(config), "--json", "--set", "loader.mode=resident"]) == 0
    resident = json_line(capsys)
    batches = report(resident)
    assert batches["decoder"] == Brighter().name
    assert batches["reason"].endswith("; the GPU decoded 78 pictures, the processor 1 other")
    environment = json.loads((Path(resident["folder"]) / "environment.json").read_text())
    assert environment["decoder"] == Brighter().name
    assert main(["run", str(config), "--json", "--set", "loader.mode=streamed", "--set", "loader.workers=3"]) == 0
    streamed = json_line(capsys)
    assert report(streamed)["workers"] == 0
    assert report(streamed)["reason"].endswith(
        "threads read those that are not decoded yet, and the GPU decodes them; "
        "the GPU decoded 78 pictures, the processor 1 other"
    )
    assert weights(streamed) == weights(resident)
    assert main(["run", str(config), "--json", "--set", "loader.decoder=cpu"]) == 0
    assert weights(json_line(capsys)) != weights(resident)


def test_a_run_that_has_all_from_the_cache_does_not_speak_of_decoding(
    config: Path, capsys: Captured, lent: pytest.MonkeyPatch, wish: CacheWish
) -> None:
    settings = ("loader.mode=streamed", "loader.workers=3", "loader.cache=on", f"loader.cache_folder={wish.home}")
    words = [word for setting in settings for word in ("--set", setting)]
    found = []
    for supply in ("they were decoded now and are kept in the cache for the next run", FROM_CACHE):
        assert main(["run", str(config), "--json", *words]) == 0
        record = json_line(capsys)
        batches = report(record)
        assert batches["reason"].endswith(f"; {supply}")
        assert "a thread reads them ahead, since they need no decoding; " in batches["reason"]
        assert "threads read those" not in batches["reason"]
        assert batches["workers"] == 0  # where the cache is lost, the GPU decodes again
        found.append(weights(record))
    assert found[0] == found[1]


def test_the_next_run_of_the_process_is_not_told_who_decoded_for_this_one(
    make_config: MakeConfig, folder: Path, lent: pytest.MonkeyPatch
) -> None:
    config = make_config(
        dataset={"kind": "image_folder", "path": str(folder), "image_size": 32}, loader={"decoder": "gpu"}
    )
    kept = KeptData(clock=lambda: time.time() + 60.0)  # so that no file was written just now
    said = [kept.prepare(config, torch.device("cpu"), silent).report["batches"]["reason"] for _ in range(2)]
    kept.drop()
    decoded_by = "the GPU decoded 78 pictures, the processor 1 other"
    assert said[0].endswith(f"; {decoded_by}")
    assert said[1] == said[0].removesuffix(decoded_by) + "the run before has opened them"


def test_a_machine_without_a_gpu_says_so_before_a_run_and_at_a_check(config: Path, capsys: Captured) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    assert main(["run", str(config)]) == 2
    assert NEEDED in capsys.readouterr().err
    assert main(["check", str(config), "--json"]) != 0
    (finding,) = json_line(capsys)["findings"]
    assert (finding["level"], finding["title"], finding["fix"]) == ("error", NEEDED, {"loader.decoder": "cpu"})


@pytest.mark.parametrize(
    ("sections", "sentence"),
    [
        (
            {"dataset": {"kind": "spiral"}},
            "only JPEGs of an image folder can be decoded on a GPU, but the dataset is spiral; choose cpu.",
        ),
        (
            {"precision": {"device": "cpu"}},
            "decoding on a GPU needs an NVIDIA one, but precision.device is cpu; choose cpu.",
        ),
    ],
)
def test_settings_that_cannot_go_together_are_refused_at_once(
    make_config: MakeConfig, folder: Path, sections: dict[str, Any], sentence: str
) -> None:
    dataset = {"dataset": {"kind": "image_folder", "path": str(folder)}}
    with pytest.raises(ConfigError) as caught:
        make_config(**dataset | sections, loader={"decoder": "gpu"})
    (problem,) = caught.value.problems
    assert str(problem) == f"loader.decoder: {sentence}"


def test_a_run_goes_on_where_there_is_no_gpu_as_a_branch(
    config: Path, capsys: Captured, lent: pytest.MonkeyPatch
) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    assert main(["run", str(config), "--json", "--set", "loop.max_steps=6"]) == 0
    run = json_line(capsys)["run"]
    lent.undo()
    longer = ["--set", "loop.max_steps=12"]
    assert main(["resume", run, *longer]) == 2
    text = capsys.readouterr().err
    assert NEEDED in text
    assert "Set loader.decoder = cpu; a run that began with gpu goes on with it as a branch." in text
    assert main(["resume", run, *longer, "--set", "loader.decoder=cpu"]) == 0
    text = capsys.readouterr().err
    assert "the same pictures have slightly other pixels from here on, because of loader.decoder" in text
