"""NumPy archives that are damaged, hostile, empty, or hold numbers that cannot be trained on."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.lib import format as npy
from numpy.typing import NDArray

from tests.training.data.conftest import MakeConfig
from training.cli import main
from training.config.sections.data.npz import NpzDataset, NpzImagesDataset
from training.data import prepare
from training.data.arrays import npz_file
from training.data.arrays.npz_file import NpzFile
from training.data.source import Opening
from training.data.sources.npz import Arrays, open_npz, open_npz_images
from training.data.tables.targets import target_facts
from training.errors import InputError
from training.system.host_memory import HostMemory

CPU = torch.device("cpu")
ROWS = np.random.default_rng(0).normal(size=(20, 3))
CLASSES = np.arange(20) % 2


def opened(folder: Path, **arrays: NDArray[Any]) -> Arrays:
    np.savez(folder / "a.npz", **arrays)  # type: ignore[arg-type]  # numpy takes any name
    return open_npz(NpzDataset.model_validate({"path": str(folder / "a.npz")}), Opening())


def planted(array: NDArray[Any], place: tuple[int, ...], value: float) -> NDArray[Any]:
    made = array.copy()
    made[place] = value
    return made


def member(shape: tuple[int, ...], data: bytes) -> bytes:
    """An array in .npy form whose header says ``shape`` of float32, whatever lies behind it."""
    stream = io.BytesIO()
    npy.write_array_header_1_0(stream, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return stream.getvalue() + data


def refused(path: Path, content: bytes, compression: int = zipfile.ZIP_STORED) -> str:
    """What is said of an archive whose array "x" is ``content``."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("x.npy", content)
    with pytest.raises(InputError) as caught:
        NpzFile(path).array("x")
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e300])
def test_inputs_that_are_infinite_as_float32_are_refused_with_their_row(tmp_path: Path, value: float) -> None:
    with pytest.raises(
        InputError, match=r"array 'x' holds a number that is infinite or too large for float32 in row 3,"
    ):
        opened(tmp_path, x=planted(ROWS, (3, 1), value), y=CLASSES)


def test_the_row_is_found_in_any_part_and_far_behind(tmp_path: Path) -> None:
    many = np.zeros((700_000, 2), np.float32)
    far = planted(many, (650_001, 0), np.inf)
    with pytest.raises(InputError, match=r"array 'x_valid' holds .* in row 650,001, counted from 0"):
        opened(tmp_path, x=many, y=np.arange(700_000) % 2, x_valid=far, y_valid=np.arange(700_000) % 2)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_targets_that_are_not_finite_are_refused_with_their_array_and_row(tmp_path: Path, value: float) -> None:
    wrong = planted(ROWS, (5, 2), value)
    with pytest.raises(
        InputError, match=r"array 'y_test' holds a number that is missing or infinite.* in row 5, counted"
    ):
        opened(tmp_path, x=ROWS, y=ROWS, x_test=ROWS, y_test=wrong)


def test_the_spread_of_targets_is_finite_or_refused(tmp_path: Path) -> None:
    source = opened(tmp_path, x=ROWS, y=ROWS)
    source.targets[4, 1] = torch.inf
    with pytest.raises(InputError, match=r"dataset\.targets: 'value 2' has no finite mean and std"):
        target_facts(source, torch.arange(20), None)


def test_one_gap_anywhere_counts_as_a_gap_whichever_samples_are_measured(
    make_config: MakeConfig, tmp_path: Path
) -> None:
    rows = planted(np.random.default_rng(1).normal(size=(20_000, 2)).astype(np.float32), (1, 0), np.nan)
    np.savez(tmp_path / "a.npz", x=rows, y=np.arange(20_000) % 2, x_val=rows[:50], y_val=np.arange(50) % 2)
    data = prepare(make_config(dataset={"kind": "npz", "path": str(tmp_path / "a.npz")}, model={"kind": "mlp"}), CPU)
    assert data.normalization.missing
    assert "numbers that are missing (NaN) become the mean of the training samples" in data.report.notes
    batch = next(iter(data.evaluation_batches("validation")))
    assert batch.inputs.isfinite().all()
    assert batch.inputs[1, 0] == 0
    np.savez(tmp_path / "a.npz", x=ROWS, y=CLASSES)
    data = prepare(make_config(dataset={"kind": "npz", "path": str(tmp_path / "a.npz")}, model={"kind": "mlp"}), CPU)
    assert not data.normalization.missing


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        (
            {"x": np.zeros((0, 5)), "y": np.zeros(0, int)},
            r"dataset.inputs: array 'x' has the shape \(0, 5\), so it holds",
        ),
        (
            {"x": np.zeros((20, 0)), "y": CLASSES},
            r"dataset.inputs: array 'x' has the shape \(20, 0\), so it holds nothing",
        ),
        (
            {"x": ROWS, "y": np.zeros((20, 0))},
            r"dataset.targets: array 'y' has the shape \(20, 0\), so it holds nothing",
        ),
    ],
)
def test_empty_arrays_are_refused(tmp_path: Path, arrays: dict[str, NDArray[Any]], sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        opened(tmp_path, **arrays)


def test_inputs_that_are_no_plain_numbers_are_refused(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"dataset\.inputs: holds complex128 and has the shape \(20, 3\); rows of numbers"
    ):
        opened(tmp_path, x=ROWS.astype(complex), y=CLASSES)


def test_images_without_height_are_refused_on_the_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.savez(tmp_path / "a.npz", x=np.zeros((20, 0, 4, 3), np.uint8), y=CLASSES)
    (tmp_path / "run.toml").write_text(
        f"[dataset]\nkind = 'npz_pictures'\npath = '{tmp_path / 'a.npz'}'\n[model]\nkind = 'small_cnn'\n"
    )
    assert main(["run", str(tmp_path / "run.toml"), "--workspace", str(tmp_path / "w")]) == 2
    assert "array 'x' has the shape (20, 0, 4, 3), so it holds nothing" in capsys.readouterr().err


def test_damaged_archives_are_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "a.npz"
    whole = member((10, 2), bytes(80))
    for content in (b"\x93NU", b"\x93NUMPY\x01\x00\x10\x00" + b"{" * 16, whole[:60], whole[:-1]):
        assert "array 'x' of" in (said := refused(path, content)), said
        assert "cannot be read" in said
    for shape in ((10, -2), (-10, -2)):
        assert f"cannot be read ({shape} is no shape)" in refused(path, member(shape, bytes(80)))

    for compression in (zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        with zipfile.ZipFile(path, "w", compression) as archive:
            archive.writestr("x.npy", member((2000, 3), np.random.default_rng(0).bytes(24_000)))
        raw = bytearray(path.read_bytes())
        raw[60:90] = bytes(byte ^ 0x5A for byte in raw[60:90])
        path.write_bytes(raw)
        with pytest.raises(InputError, match=r"array 'x' of .* cannot be read"):
            NpzFile(path).array("x")


@pytest.mark.parametrize(("offset", "value"), [(8, 1), (10, 97)])
def test_encrypted_members_and_unknown_compression_are_told_in_a_sentence(
    tmp_path: Path, offset: int, value: int
) -> None:
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=ROWS)
    raw = bytearray(path.read_bytes())
    raw[raw.find(b"PK\x01\x02") + offset] = value  # the central directory's flags, and its kind of compression
    path.write_bytes(raw)
    with pytest.raises(InputError, match=r"array 'x' of .* cannot be read"):
        NpzFile(path).array("x")


def test_an_array_that_claims_more_than_it_holds_is_refused_before_memory_is_taken(tmp_path: Path) -> None:
    said = refused(tmp_path / "a.npz", member((10**9, 1000), bytes(1000)), zipfile.ZIP_DEFLATED)
    assert "need 4,000,000,000,000 bytes, but 1,000 lie behind its header" in said


def test_a_compressed_array_larger_than_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(npz_file, "host_memory", lambda: HostMemory(1000, 10, "this computer has"))
    np.savez_compressed(tmp_path / "a.npz", x=ROWS)
    with pytest.raises(InputError, match=r"array 'x' of .* needs 480 bytes of memory, but 10 bytes are free"):
        NpzFile(tmp_path / "a.npz").array("x")
    np.savez(tmp_path / "a.npz", x=ROWS)
    assert np.array_equal(NpzFile(tmp_path / "a.npz").array("x"), ROWS)  # mapped, so it takes none


def test_a_class_in_held_back_masks_only_is_refused(tmp_path: Path) -> None:
    shown = np.zeros((6, 4, 4, 3), np.uint8)
    masks = np.random.default_rng(0).integers(0, 3, (6, 4, 4), dtype=np.uint8)

    def masked(y_val: NDArray[np.uint8]) -> Arrays:
        np.savez(tmp_path / "a.npz", x=shown, y=masks, x_val=shown, y_val=y_val)
        return open_npz_images(NpzImagesDataset.model_validate({"path": str(tmp_path / "a.npz")}), Opening())

    source = masked(planted(masks, (2, 1, 1), 255))
    assert source.fit(source.parts["train"]).classes == ("0", "1", "2")
    source = masked(planted(masks, (2, 1, 1), 7))
    with pytest.raises(InputError, match="class 7 is in held-out masks only; those of the training part go up to 2"):
        source.fit(source.parts["train"])


def test_parts_of_different_kinds_of_numbers_keep_their_values(tmp_path: Path) -> None:
    halves = ROWS.astype(np.float16)
    large = planted(ROWS, (4, 0), 1e6)
    source = opened(tmp_path, x=halves, y=CLASSES, x_val=large, y_val=CLASSES)
    assert np.array_equal(source.read_all().numpy(), np.concatenate([halves, large]).astype(np.float32))
    assert not source.gaps
