"""Images with a table: classes, labels or values by the row, whatever the table leaves out."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.reports import inspect
from tests.training.data.conftest import MakeConfig, image
from training.config.sections.data.images import ImageTableDataset
from training.data import prepare
from training.data.images.cache_room import CacheWish
from training.data.source import Opening, Source
from training.data.sources import open_source
from training.errors import ConfigError, InputError

NAMES = [f"{number:02}.png" for number in range(12)]


def write(folder: Path, header: str, rows: Sequence[str]) -> Path:
    """A table, and the twelve images that it may name, in ``folder``/images."""
    (folder / "pictures").mkdir(parents=True, exist_ok=True)
    for number, name in enumerate(NAMES):
        image(number).save(folder / "pictures" / name)
    (folder / "table.csv").write_text("\n".join([header, *rows]) + "\n")
    return folder / "table.csv"


def opened(table: Path, *, check: bool = True, cache: CacheWish | None = None, **settings: Any) -> Source:
    data = {"path": str(table), "images": str(table.parent / "pictures")} | settings
    return open_source(ImageTableDataset.model_validate(data), Opening(check=check, workers=0, cache=cache))


def test_classes_by_the_row(tmp_path: Path) -> None:
    order = [5, 3, 11, 0, 7, 1]
    rows = [f"{number},{NAMES[number]},{'cat' if number % 2 else 'dog'}" for number in order]
    source = opened(write(tmp_path, "id,file,animal", rows))
    assert (source.classes, source.target) == (("cat", "dog"), "class")
    assert source.targets.tolist() == [0, 0, 0, 1, 0, 0]
    assert [source.name(row) for row in range(6)] == [NAMES[number] for number in order]
    assert np.array_equal(source.read(torch.tensor([2]))[0].numpy(), np.asarray(image(11)))
    assert "predicts the last column, 'animal'; dataset.targets chooses another" in source.notes


def test_labels_in_columns_and_in_one_cell_are_the_same(tmp_path: Path) -> None:
    flags = [(number % 2, number % 3 == 0, number > 5) for number in range(12)]
    words = [" ".join(name for name, on in zip(("red", "round", "big"), each, strict=True) if on) for each in flags]
    columns = write(
        tmp_path / "a",
        "file,red,round,big",
        [f"{n},{','.join(str(int(x)) for x in f)}" for n, f in zip(NAMES, flags, strict=True)],
    )
    cells = write(tmp_path / "b", "file,labels", [f"{n},{w}" for n, w in zip(NAMES, words, strict=True)])
    given = opened(columns, targets=["red", "round", "big"])
    split = opened(cells, label_separator="space")
    assert given.target == split.target == "labels"
    assert given.classes == ("red", "round", "big")
    assert split.classes == ("big", "red", "round")
    assert torch.equal(given.targets[:, [2, 0, 1]], split.targets)
    assert given.targets.tolist() == [[float(x) for x in each] for each in flags]


def test_numbers_to_predict(tmp_path: Path) -> None:
    table = write(tmp_path, "file,x,y", [f"{name},{number / 4},{-number}" for number, name in enumerate(NAMES)])
    source = opened(table, targets="x, y")
    assert (source.target, source.classes) == ("values", ("x", "y"))
    assert source.targets.tolist() == [[number / 4, -number] for number in range(12)]


def test_parts_and_groups_come_from_columns(tmp_path: Path, make_config: MakeConfig) -> None:
    rows = [
        f"{name},{number % 4},{'val' if number < 2 else 'train'},{'ab'[number % 2]}"
        for number, name in enumerate(NAMES)
    ]
    table = write(tmp_path, "file,person,part,kind", rows)
    given = opened(table, split_column="part")
    assert {part: rows.tolist() for part, rows in given.parts.items()} == {
        "validation": [0, 1],
        "train": list(range(2, 12)),
    }
    grouped = opened(table, group_column="person")
    assert grouped.groups is not None
    for settings, held in (({"split_column": "part"}, {0, 1}), ({"group_column": "person"}, None)):
        dataset = {"kind": "image_table", "path": str(table), "images": str(tmp_path / "pictures"), "targets": ["kind"]}
        with prepare(make_config(dataset=dataset | settings), torch.device("cpu")) as data:
            found = set(data.splits["validation"].tolist())
            assert found == held if held else len({row % 4 for row in found}) * 3 == len(found)


def test_what_cannot_be_used_is_left_out_with_its_reason(tmp_path: Path) -> None:
    rows = [f"{name},{'ab'[number % 2]}" for number, name in enumerate(NAMES)]
    rows[1:1] = ["nowhere.png,a", "../table.csv,b", "/etc/hostname,a", ",b", "01.png,", "00.png,b", "notes.txt,a"]
    table = write(tmp_path, "file,kind", rows)
    (tmp_path / "pictures" / "notes.txt").write_text("about")
    (tmp_path / "pictures" / "07.png").write_bytes(b"broken")
    source = opened(table)
    assert len(source.targets) == 11
    assert {skipped.path: skipped.reason for skipped in source.skipped} == {
        "nowhere.png": "row 2: there is no such file",
        "../table.csv": "row 3: lies outside of the folder of the images",
        "/etc/hostname": "row 4: lies outside of the folder of the images",
        "the table": "row 5: names no file",
        "01.png": "row 6: has no value in column 'kind'",
        "00.png": "row 7: the same file as in row 1",
        "notes.txt": "row 8: not an image format that can be read (.txt)",
        "07.png": "not an image in a format that can be read",
    }


def test_one_file_is_one_sample_however_it_is_written(tmp_path: Path) -> None:
    rows = [f"{name},{'ab'[number % 2]}" for number, name in enumerate(NAMES)]
    source = opened(write(tmp_path, "file,kind", [*rows, "./03.png,a", ".//04.png,a"]))
    assert len(source.targets) == len(NAMES)
    assert {skipped.path: skipped.reason for skipped in source.skipped} == {
        "03.png": "row 13: the same file as in row 4",
        "04.png": "row 14: the same file as in row 5",
    }


def test_a_number_too_large_is_told_by_its_row_in_the_table(tmp_path: Path) -> None:
    rows = ["nowhere.png,1.5", *(f"{name},{number}.5" for number, name in enumerate(NAMES))]
    rows[4] = "03.png,1e39"
    with pytest.raises(
        InputError, match=r"dataset.targets: column 'y' holds the number 1e\+39, which .* in row 5; mend"
    ):
        opened(write(tmp_path, "file,y", rows))


def test_a_target_stands_once(make_config: MakeConfig, tmp_path: Path) -> None:
    table = write(tmp_path, "file,x,y", [f"{name},1.5,{number}" for number, name in enumerate(NAMES)])
    with pytest.raises(ConfigError, match=r"dataset\.targets: names the column 'x' twice; take one of them out"):
        make_config(dataset={"kind": "image_table", "path": str(table), "targets": ["x", "y", "x"], "task": "values"})


def test_files_without_their_ending(tmp_path: Path) -> None:
    rows = [f"{name.removesuffix('.png')}x,{number % 2}" for number, name in enumerate(NAMES)]
    table = write(tmp_path, "image,kind", rows)
    for name in NAMES:
        (tmp_path / "pictures" / name).rename(tmp_path / "pictures" / name.replace(".png", "x.png"))
    assert len(opened(table, file_ending=".png").targets) == 12


def test_tables_that_will_not_do(tmp_path: Path) -> None:
    rows = [f"{name},{'ab'[number % 2]}" for number, name in enumerate(NAMES)]
    with pytest.raises(InputError, match=r"dataset\.targets: the table has no column 'kint'; did you mean 'kind'"):
        opened(write(tmp_path, "file,kind", rows), targets=["kint"])
    with pytest.raises(InputError, match="no column of the table holds names of images"):
        opened(write(tmp_path, "number,kind", [f"{number},a" for number in range(12)]))
    with pytest.raises(InputError, match=r"names no image that is there .*row 1: there is no such file"):
        opened(write(tmp_path, "file,kind", ["x.png,a", "y.png,b"]))
    with pytest.raises(InputError, match="no column to predict"):
        opened(write(tmp_path, "file", NAMES))


def test_labels_are_those_of_the_training_images(tmp_path: Path, make_config: MakeConfig) -> None:
    rows = [
        f"{name},{'a b' if number % 2 else 'b'},{'val' if number < 3 else 'train'}" for number, name in enumerate(NAMES)
    ]
    table = write(tmp_path, "file,labels,part", rows)
    settings: dict[str, Any] = {"targets": ["labels"], "label_separator": "space", "split_column": "part"}
    clean = opened(table, **settings)
    write(tmp_path, "file,labels,part", [rows[0].replace(",b,", ",b planted,"), *rows[1:]])
    planted = opened(table, **settings)
    assert planted.classes == ("a", "b", "planted")
    fitted = planted.fit(planted.parts["train"])
    assert fitted.classes == clean.classes == ("a", "b")
    assert torch.equal(fitted.targets, clean.targets)


def test_the_fingerprint_knows_files_and_labels(tmp_path: Path) -> None:
    rows = [f"{name},{'ab'[number % 2]}" for number, name in enumerate(NAMES)]
    first = opened(write(tmp_path, "file,kind", rows)).fingerprint
    assert opened(write(tmp_path, "file,kind", rows)).fingerprint == first
    assert opened(write(tmp_path, "file,kind", [rows[0].replace("a", "b"), *rows[1:]])).fingerprint != first
    image(99).save(tmp_path / "pictures" / "03.png")
    (tmp_path / "table.csv").write_text("\n".join(["file,kind", *rows]) + "\n")
    assert opened(tmp_path / "table.csv").fingerprint != first


def test_a_preview_of_many_looks_at_names_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = write(tmp_path, "file,kind", [f"{name},{'ab'[number % 2]}" for number, name in enumerate(NAMES)])
    (tmp_path / "pictures" / "05.png").write_bytes(b"broken")
    assert len(opened(table, check=False).targets) == 11
    monkeypatch.setattr("training.data.images.images.is_quick", lambda listing: False)
    assert len(opened(table, check=False).targets) == 12
    assert len(opened(table).targets) == 11


def test_they_come_from_the_cache(tmp_path: Path) -> None:
    table = write(tmp_path, "file,kind", [f"{name},{'ab'[number % 2]}" for number, name in enumerate(NAMES)])
    wish = CacheWish("on", tmp_path / "cache", 10**9)
    first, second = opened(table, cache=wish), opened(table, cache=wish)
    assert "came decoded from the cache" in second.supply
    assert torch.equal(first.read(torch.arange(12)), second.read(torch.arange(12)))


def test_a_preview_tells_of_the_columns_also_when_a_role_is_wrong(tmp_path: Path, make_config: MakeConfig) -> None:
    table = write(tmp_path, "id,file,kind", [f"{n},{name},{'ab'[n % 2]}" for n, name in enumerate(NAMES)])
    dataset = {"kind": "image_table", "path": str(table), "images": str(tmp_path / "pictures")}
    report = inspect(make_config(dataset=dataset | {"targets": ["kind"]}))
    assert {each["name"]: each["role"] for each in report["table"]["columns"]} == {
        "kind": "target",
        "id": "ignored",
        "file": "file",
    }
    assert len(report["first_page"]["samples"]) == 10
    wrong = inspect(make_config(dataset=dataset | {"targets": ["sort"]}))
    assert "the table has no column 'sort'" in wrong["refused"]
    assert {each["name"] for each in wrong["table"]["columns"]} == {"id", "file", "kind"}
