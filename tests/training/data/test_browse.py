"""Pages of a dataset's samples: what each holds, and how long the dataset behind them stays open."""

from __future__ import annotations

from base64 import b64decode
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.training.data.conftest import MakeConfig, image
from tests.training.data.test_inspect import pixels
from training.config.files import config_data
from training.data import browse
from training.data.browse import Browser
from training.data.sample_page import open_data, read_page
from training.data.source import Opening
from training.data.sources import open_source
from training.data_report import Skipped
from training.errors import InputError
from training.protocol.answers import SamplePage
from training.protocol.messages import BrowseSamples, InspectDataset, ReadSamples
from training.runs.folder import create_run


def all_pages(data: Any, part: str, classes: tuple[str, ...] = (), count: int = 7) -> list[SamplePage]:
    pages = [read_page(data, part, classes, count=count)]
    while pages[-1].offset + count < pages[-1].total:
        pages.append(read_page(data, part, classes, pages[-1].offset + count, count))
    return pages


def test_pages_go_through_a_part_or_a_class_once(make_config: MakeConfig) -> None:
    data = open_data(make_config(dataset={"kind": "shapes", "samples": 90, "validation_fraction": 0.3, "flip": True}))
    for part, split in data.splits.items():
        for classes in ((), ("star",), ("star", "ring")):
            pages = all_pages(data, part, classes)
            samples = [sample for page in pages for sample in page.samples]
            assert [sample.place for sample in samples] == list(range(pages[0].total))
            names = [data.source.classes[number] for number in data.source.targets[split].tolist()]
            wanted = [i for i, name in zip(split.tolist(), names, strict=True) if not classes or name in classes]
            assert sorted(sample.index for sample in samples) == wanted
            assert {sample.label for sample in samples} == set(classes or data.source.classes)
    judged = read_page(data, "validation").samples
    assert all(one.pixels_base64 == one.original_base64 for one in judged)  # nothing is augmented there
    trained = read_page(data, "train").samples
    assert any(one.pixels_base64 != one.original_base64 for one in trained)
    assert read_page(data, "train", offset=10**6, count=24).offset == 48  # of 63: the last page


def test_samples_are_read_by_their_numbers_as_they_are(make_config: MakeConfig, tmp_path: Path) -> None:
    config = make_config(dataset={"kind": "shapes", "samples": 90, "validation_fraction": 0.3, "flip": True})
    run = create_run(tmp_path, config)
    asked = ReadSamples(run=run.path, on="validation", numbers=(7, 3, 90))
    page = Browser(keeps=True).read_samples(asked)
    assert [sample.index for sample in page.samples] == [7, 3]
    assert [file.path for file in page.unreadable] == ["90"]
    pixels = open_data(config).source.read(torch.tensor([7, 3]))
    for sample, wanted in zip(page.samples, pixels, strict=True):
        assert b64decode(sample.original_base64) == wanted.numpy().tobytes()


def test_a_sample_is_found_by_its_name_where_a_run_left_broken_files_out(
    make_config: MakeConfig, image_folder: Path, tmp_path: Path
) -> None:
    (image_folder / "apple" / "000.png").write_bytes(b"broken")
    config = make_config(dataset={"kind": "image_folder", "path": str(image_folder), "image_size": 16})
    run = create_run(tmp_path / "runs", config)
    evaluated = open_source(config.dataset, Opening())  # as a run does: without what is broken
    numbers = (0, len(evaluated.targets) - 1)
    names = tuple(evaluated.name(number) for number in numbers)
    asked = ReadSamples(run=run.path, on="validation", numbers=(*numbers, 5), names=(*names, "apple/gone.png"))
    page = Browser(keeps=True).read_samples(asked)
    assert [(sample.index, sample.name) for sample in page.samples] == list(zip(numbers, names, strict=True))
    for number, sample in zip(numbers, page.samples, strict=True):
        assert b64decode(sample.original_base64) == evaluated.read(torch.tensor([number]))[0].numpy().tobytes()
    assert page.unreadable == (Skipped("5", "The data has no sample apple/gone.png any more."),)


def test_a_label_chooses_all_images_that_have_it(make_config: MakeConfig, tmp_path: Path) -> None:
    for number in range(10):
        image(number).save(tmp_path / f"{number}.png")
    rows = [f"{number}.png,{'red big' if number % 2 else 'red' if number % 4 else ''},{number}" for number in range(10)]
    (tmp_path / "table.csv").write_text("\n".join(["file,labels,x", *rows]))
    dataset = {"kind": "image_table", "path": str(tmp_path / "table.csv")}
    labels = open_data(
        make_config(
            dataset=dataset | {"targets": ["labels"], "label_separator": "space"}, objective={"kind": "multi_label"}
        )
    )
    for name in labels.source.classes:
        found = [one for part in labels.splits for one in read_page(labels, part, (name,)).samples]
        assert len(found) == {"big": 5, "red": 7}[name]
        assert all(name in one.label for one in found)
    values = make_config(dataset=dataset | {"targets": ["x"], "task": "values"}, objective={"kind": "regression"})
    with pytest.raises(InputError, match="no classes to choose by"):
        read_page(open_data(values), classes=("x",))


def test_what_the_data_does_not_have_is_refused(make_config: MakeConfig) -> None:
    data = open_data(make_config(dataset={"kind": "shapes", "samples": 60}))
    with pytest.raises(InputError, match="no class 'moon'"):
        read_page(data, classes=("moon",))
    with pytest.raises(InputError, match=r"no test part. Choose train or validation"):
        read_page(data, "test")


def test_the_dataset_stays_open_for_a_while(
    make_config: MakeConfig, image_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Any] = []

    def note_and_open(config: Any) -> Any:
        opened.append(config.dataset)
        return open_data(config)

    monkeypatch.setattr(browse, "open_data", note_and_open)
    config = config_data(make_config(dataset={"kind": "image_folder", "path": str(image_folder)}))
    time = 0.0
    browser = Browser(keeps=True, now=lambda: time)
    page = BrowseSamples(config=config, part="validation")
    report = browser.inspect(InspectDataset(config=config))
    assert browser.read_page(page).total == report.samples["validation"]
    assert len(opened) == 1
    time = 119.0
    browser.rest()
    first = browser.read_page(page)
    assert len(opened) == 1
    time = 240.0
    browser.rest()
    assert browser.read_page(page) == first
    assert len(opened) == 2
    browser.read_page(page.model_copy(update={"config": config | {"seed": 5}}))
    assert len(opened) == 3  # of other settings
    (image_folder / "apple" / "new.png").write_bytes((image_folder / "apple" / "000.png").read_bytes())
    assert (
        sum(browser.inspect(InspectDataset(config=config)).samples.values()) == 37
    )  # a report looks at the files again
    aside = Browser(keeps=False)
    aside.inspect(InspectDataset(config=config))
    before = len(opened)
    aside.read_page(page)
    assert len(opened) == before + 1


def test_the_same_image_whoever_asks(make_config: MakeConfig, image_folder: Path) -> None:
    data = open_data(make_config(dataset={"kind": "image_folder", "path": str(image_folder)}))
    for sample in read_page(data, "validation", ("bear",)).samples:
        number = 100 + int(Path(sample.name).stem)
        assert np.array_equal(pixels(sample.model_dump(), "original_base64"), np.asarray(image(number)))
        assert torch.isin(torch.tensor(sample.index), data.splits["validation"])
