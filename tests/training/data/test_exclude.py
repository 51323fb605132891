"""Exclude lists: samples left out by their content, wherever they lie, while the others stay in their parts."""

from __future__ import annotations

import json
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tests.training.data.conftest import image
from tests.training.data.pairs_of_images import write_pairs
from tests.training.tiny import tiny_images, write_idx
from training.cli import main
from training.config import RunConfig, parse_config
from training.config.files import save_config
from training.data import exclude, prepare
from training.data.exclude import sample_digests
from training.data.images import images
from training.data.inspect import inspect_dataset
from training.errors import ConfigError, InputError
from training.exclude_list import add_to_list, read_exclude_list, remove_from_list
from training.predictions.reading import list_evaluations
from training.runs.workspace import run_folders

CPU = torch.device("cpu")


def excluding(config: RunConfig, file: Path) -> RunConfig:
    return config.model_copy(update={"dataset": config.dataset.model_copy(update={"exclude": str(file)})})


def of_kind(kind: str, folder: Path) -> RunConfig:
    """A run on 36 samples or more."""
    if kind == "idx":
        return tiny_images(write_idx(folder / "idx"), "dataset.classes=0,2,3")
    dataset: dict[str, Any] = {"kind": kind, "path": str(folder / "data")}
    if kind == "table":
        lines = [f"{n % 7},{'abc'[n % 3]},{'yes' if n % 2 else 'no'}" for n in range(200)]
        (folder / "data.csv").write_text("\n".join(["x,letter,answer", *lines, "3,z,no"]) + "\n")
        dataset = {"kind": kind, "path": str(folder / "data.csv"), "targets": ["answer"], "test_fraction": 0.2}
        return parse_config({"dataset": dataset, "model": {"kind": "mlp"}})
    if kind == "segmentation":
        write_pairs(folder / "data")
        dataset["validation"] = "split"
        return parse_config({"dataset": dataset, "model": {"kind": "unet", "depth": 1, "width": 4}})
    for number in range(36):
        place = folder / "data" / ("apple", "bear", "crow")[number % 3]
        place.mkdir(parents=True, exist_ok=True)
        image(number).save(place / f"{number:02}.png")
    return parse_config({"dataset": dataset})


@pytest.mark.parametrize("kind", ["idx", "image_folder", "segmentation", "table"])
def test_the_others_stay_in_their_parts(kind: str, tmp_path: Path) -> None:
    config, file = of_kind(kind, tmp_path), tmp_path / "exclude.txt"
    with prepare(config, CPU) as before:
        chosen = torch.cat([before.splits[part][:1] for part in ("train", "validation")])
        digests = sample_digests(before.source, chosen)
        names = [before.source.name(number) for number in chosen.tolist()]
        alike = torch.tensor(
            [d in digests for d in sample_digests(before.source, torch.arange(len(before.source.targets)))]
        )
    add_to_list(file, dict(zip(digests, names, strict=True)))
    add_to_list(file, {"0" * 32: "of another data set"})
    with prepare(excluding(config, file), CPU) as after:
        for part, numbers in before.splits.items():
            assert torch.equal(after.splits[part], numbers[~alike[numbers]])
        count = sum(int(alike[numbers].sum()) for numbers in before.splits.values())
        assert f"{count} samples left out by exclude.txt; 1 line of it matches none" in after.report.notes
        assert after.report.fingerprint != before.report.fingerprint
        assert after.plan.samples(0) <= before.plan.samples(0)
    if kind != "table":  # of which rows are alike: cells of other rows are not theirs
        assert count == 2


@pytest.mark.parametrize("quick", [True, False])
def test_a_preview_leaves_them_out_too(quick: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the files of a folder that is not read whole, those are found that are called as in the list, or as long."""
    monkeypatch.setattr(images, "is_quick", lambda listing: quick)
    config, file = of_kind("image_folder", tmp_path), tmp_path / "exclude.txt"
    digests = digests_of(config, [0, 1, 20])
    names = ["apple/00.png", "apple/03.png", "of another name"]
    add_to_list(file, dict(zip(digests, names, strict=True)) | {"0" * 32: "of another data set"})
    listed = excluding(config, file)
    with prepare(listed, CPU) as data:
        left, note = {part: len(numbers) for part, numbers in data.splits.items()}, data.report.notes
    report = inspect_dataset(listed)
    assert report.samples == left
    assert "3 samples left out by exclude.txt; 1 line of it matches none" in {*note} & {*report.notes}
    assert report.first_page is not None
    assert not {"apple/00.png", "apple/03.png"} & {sample.name for sample in report.first_page.samples}
    if not quick:  # too many to read: those called as in the list alone
        monkeypatch.setattr(exclude, "_MOST_FILES", 1)
        report = inspect_dataset(listed)
        assert (
            "2 samples left out by exclude.txt; 2 lines of it will be looked for when training starts" in report.notes
        )


def test_a_sample_is_known_by_content_and_label(tmp_path: Path) -> None:
    """Files may be renamed and images scaled; the label may be corrected, which makes it another sample."""
    config, file = of_kind("image_folder", tmp_path), tmp_path / "exclude.txt"
    digests = digests_of(config, [0, 1])
    add_to_list(file, dict.fromkeys(digests, ""))
    folder = tmp_path / "data"
    (folder / "apple" / "00.png").rename(folder / "apple" / "zz.png")
    shutil.move(folder / "apple" / "03.png", folder / "bear" / "03.png")
    scaled = config.model_copy(update={"dataset": config.dataset.model_copy(update={"image_size": 8})})
    with prepare(excluding(scaled, file), CPU) as data:
        assert [data.source.name(number) for number in data.source.excluded] == ["apple/zz.png"]


def digests_of(config: RunConfig, numbers: list[int]) -> list[str]:
    with prepare(config, CPU) as data:
        return sample_digests(data.source, torch.tensor(numbers))


def test_other_rows_and_columns_do_not_matter(tmp_path: Path) -> None:
    config, file = of_kind("table", tmp_path), tmp_path / "exclude.txt"
    add_to_list(file, dict.fromkeys(digests_of(config, [200]), "row 201"))
    text = (tmp_path / "data.csv").read_text()
    (tmp_path / "data.csv").write_text(text.replace("x,letter,answer\n", "x,letter,answer\n0.5,aa,no\n"))
    other = config.model_copy(update={"dataset": config.dataset.model_copy(update={"features": ("x",)})})
    with prepare(excluding(other, file), CPU) as data:
        assert data.source.excluded == (201,)


def test_a_query_is_known_by_its_own_rows(tmp_path: Path) -> None:
    """Those before it that have no grade are not counted with those that are ranked."""
    rows = [f"{n // 3},{n}.5,{n % 3}" for n in range(60)]
    dataset = {"kind": "ranking", "path": str(tmp_path / "data.csv"), "query_column": "query", "targets": ["grade"]}

    def tell(lines: list[str]) -> list[str]:
        (tmp_path / "data.csv").write_text("\n".join(["query,x,grade", *lines]) + "\n")
        return digests_of(parse_config({"dataset": dataset, "model": {"kind": "mlp"}}), [0, 19])

    assert tell(["0,7.5,", *rows]) == tell(rows)


def test_entries_come_and_go_and_the_rest_stays(tmp_path: Path) -> None:
    file = tmp_path / "exclude.txt"
    file.write_bytes(b"# mine\r\n" + b"AB" * 16 + b"  # one\r\n\r\n")
    assert add_to_list(file, {"ab" * 16: "again", "cd" * 16: "two\nlines"}) == 1
    assert read_exclude_list(file) == {"ab" * 16: "one", "cd" * 16: "two\\nlines"}
    assert remove_from_list(file, ["AB" * 16, "ef" * 16]) == 1
    assert file.read_text().splitlines() == ["# mine", "", f"{'cd' * 16}  # two\\nlines"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"# fine\nabc123  # cut\n", r"exclude\.txt, line 2: 'abc123' is no digest of 32 hexadecimal digits"),
        (b"\xff\xfe\x00\x01", "is no text in UTF-8"),
    ],
)
def test_a_damaged_list_is_refused_and_not_written_to(content: bytes, message: str, tmp_path: Path) -> None:
    file = tmp_path / "exclude.txt"
    file.write_bytes(content)
    with pytest.raises(InputError, match=message):
        prepare(excluding(of_kind("image_folder", tmp_path), file), CPU)
    with pytest.raises(InputError, match=message):
        add_to_list(file, {"ab" * 16: ""})
    assert file.read_bytes() == content


def test_nothing_left_of_a_part_is_refused(tmp_path: Path) -> None:
    config, file = of_kind("image_folder", tmp_path), tmp_path / "exclude.txt"
    with prepare(config, CPU) as data:
        add_to_list(file, dict.fromkeys(sample_digests(data.source, data.splits["validation"]), ""))
    with pytest.raises(InputError, match=r"dataset\.exclude: exclude\.txt has every validation sample"):
        prepare(excluding(config, file), CPU)


def test_a_run_keeps_its_list_and_goes_on_with_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever becomes of the file: a branch takes it as it is, the run itself the copy. Both are compared on what both have."""
    config = tiny_images(write_idx(tmp_path / "idx"), "precision.device=cpu", "loop.epochs=2")
    file, workspace = tmp_path / "exclude.txt", ["--workspace", str(tmp_path)]
    digests = digests_of(config, list(range(20)))
    add_to_list(file, dict.fromkeys(digests[:10], ""))
    save_config(excluding(config, file), tmp_path / "c.toml")
    assert main(["run", str(tmp_path / "c.toml"), "--set", "loop.max_steps=5", *workspace]) == 0
    (whole,) = run_folders(tmp_path)
    first = load_file(whole.splits_file)
    assert main(["evaluate", whole.id, *workspace]) == 0
    (evaluation,) = list_evaluations(whole)
    numbers, found = evaluation.column("index").tolist(), evaluation.digests
    assert found is not None
    assert [found[numbers.index(number)] for number in numbers if number < 20] == [
        digests[n] for n in numbers if n < 20
    ]
    assert not {*digests[:10]} & {*found}
    listing = ["exclude", whole.id, f"{numbers[0]}", f"{numbers[1]}", "--list", str(tmp_path / "mine.txt"), *workspace]
    capsys.readouterr()
    assert main(listing) == 0
    said = capsys.readouterr().err
    assert all(evaluation.names[at] in said for at in (0, 1))  # a row counts from 1, a sample from 0
    assert [*read_exclude_list(tmp_path / "mine.txt")] == [*found[:2]]
    assert main([*listing, "--remove"]) == 0
    assert read_exclude_list(tmp_path / "mine.txt") == {}
    assert main(["exclude", whole.id, "100000", "--list", str(tmp_path / "mine.txt"), *workspace]) == 2
    add_to_list(file, dict.fromkeys(digests[10:], ""))
    assert main(["resume", whole.id, "--set", "loop.max_steps=6", *workspace]) == 0
    branch = next(run for run in run_folders(tmp_path) if run.id != whole.id)
    held = [
        len(load_file(run.splits_file)["train"]) + len(load_file(run.splits_file)["validation"])
        for run in (whole, branch)
    ]
    assert held == [230, 220]
    file.unlink()
    assert main(["resume", branch.id, *workspace]) == 0  # there is nothing left to do, and nothing is missed
    assert main(["resume", str(whole.checkpoints / "step-00000002"), *workspace]) == 0
    assert all(torch.equal(part, first[name]) for name, part in load_file(whole.splits_file).items())
    capsys.readouterr()
    assert main(["compare", whole.id, branch.id, "--json", *workspace]) == 0
    told = json.loads(capsys.readouterr().out)["comparisons"]
    left = {list_evaluations(run)[0].record.samples for run in (whole, branch)}
    assert len(left) == 2
    assert {each["samples"] for each in told} == {min(left)}


def test_of_what_several_write_at_once_nothing_is_lost(tmp_path: Path) -> None:
    file, digests = tmp_path / "exclude.txt", [f"{number:032x}" for number in range(60)]
    add_to_list(file, {digests[0]: "first"})
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda digest: add_to_list(file, {digest: "sample"}), digests[1:]))
        list(pool.map(lambda digest: remove_from_list(file, [digest]), digests[:30]))
    assert sorted(read_exclude_list(file)) == digests[30:]


@pytest.mark.parametrize(
    ("dataset", "reason"),
    [
        ({"kind": "text", "path": "book.txt"}, "its samples are windows cut from one text"),
        ({"kind": "spiral"}, "each sample is made by its number, with the label that it is made for"),
        ({"kind": "shapes"}, "each sample is made by its number, with the label that it is made for"),
    ],
)
def test_what_has_no_list_says_why(dataset: dict[str, Any], reason: str) -> None:
    with pytest.raises(ConfigError, match=f"dataset.exclude: {dataset['kind']} has no exclude list: {reason}"):
        parse_config({"dataset": dataset | {"exclude": "exclude.txt"}})
