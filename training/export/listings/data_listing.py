"""What the script of a run says about its data: where it comes from, which part of it is for what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from training.config.sections.data.dataset import IdxDataset, ImageFolderDataset
from training.config.sections.data.dataset_section import PartsSection
from training.config.sections.data.text import TextDataset
from training.config.sections.pretrained import StartingWeights
from training.data.images.folder import list_folder
from training.data.source import silent
from training.data.sources.idx import IDX_FORMS, MNIST_FILES, find_idx
from training.data.sources.image_folder import folders_elsewhere
from training.errors import InputError, format_bytes
from training.export.bundle import SAMPLES, ExportBundle
from training.export.listings.augmentation_listing import list_augmentation_settings
from training.export.listings.prepared_tensors import PreparedTensors, draws_anew, explain_need
from training.export.listings.rows_listing import Reading, describe_table, describe_text
from training.export.listings.task_listing import TRUTH
from training.runs.folder import read_json
from training.tutorial.literals import Setting, code, setting

_TOYS = {
    "spiral": ("turns", "noise", "data_seed"),
    "moons": ("noise", "data_seed"),
    "circles": ("noise", "factor", "data_seed"),
    "blobs": ("classes", "features", "spread", "data_seed"),
}
"""The settings that the formulas of made points ask for, in their order."""


def _describe_idx(bundle: ExportBundle, dataset: IdxDataset) -> Reading:
    """The names of those files that the run had; where they are gone, the plain ones."""
    report = read_json(bundle.run.data_file)
    known = samples if isinstance(samples := report.get("samples"), dict) else {}
    tested = dataset.validation == "test" or "test" in known
    parts = dict(MNIST_FILES)
    if not tested and (known or not any(Path(dataset.path).glob(f"{parts['test']}-*"))):
        del parts["test"]
    names = {part: [f"{prefix}-{form}" for form in IDX_FORMS] for part, prefix in parts.items()}
    found = {part: [find_idx(Path(dataset.path), name) or Path(name) for name in pair] for part, pair in names.items()}
    lines, settings = ["samples, classes, parts = read_idx_parts(path, FILES)"], []
    if dataset.classes:
        lines += ["kept, classes, parts = keep_classes(classes, CLASSES, parts)", "samples = samples[kept]"]
        settings = [Setting("The labels of the images that are kept.", "CLASSES", [*map(int, bundle.facts.names)])]
    return Reading(
        lines,
        settings,
        parts={part: tuple(file.name for file in pair) for part, pair in found.items()},
        unreadable=", EOFError, IndexError, RuntimeError, zlib.error",  # broken gzip, header, and length
    )


def _describe_image_folder(bundle: ExportBundle, dataset: ImageFolderDataset) -> Reading:
    with explain_need():
        listing = list_folder(Path(dataset.path), silent, folders_elsewhere(dataset))
    filled = {listing.groups[owner][0] for owner in set(listing.owners)}
    parts = {part: folder or "." for part, folder in listing.folders.items() if part in filled}
    suffixes = sorted({Path(path).suffix.lower() for path in listing.paths})
    files = "_" if dataset.duplicates == "keep" else "files"
    channels, height, width = bundle.facts.shape
    return Reading(
        lines=[
            "roots = {part: path / folder for part, folder in PARTS.items()}",
            "decode = partial(decode_image, height=HEIGHT, width=WIDTH, channels=CHANNELS)",
            f"samples, classes, parts, {files} = read_images(roots, CLASSES, SUFFIXES, decode, print)",
        ],
        settings=[
            Setting("Endings of the images' names.", "SUFFIXES", suffixes),
            Setting("", "CLASSES", list(bundle.facts.names)),
            Setting("", "HEIGHT", height),
            Setting("", "WIDTH", width),
            Setting("", "CHANNELS", channels),
        ],
        parts=parts or {"train": "."},
        keys="[hashlib.sha256(file.read_bytes()).digest() for file in files]",
        packages=["pillow", "numpy"],
    )


def _describe_toy(bundle: ExportBundle, dataset: Any) -> Reading:
    """Points that are made on the spot."""
    names = _TOYS[dataset.kind]
    made = f"make_{dataset.kind}(numbers, {', '.join(name.upper() for name in names)})"
    lines = [
        "numbers = torch.arange(SAMPLES)",
        f'samples, classes, parts = {made}, numbers % {len(bundle.facts.names)}, {{"train": numbers}}',
    ]
    return Reading(lines, [setting(dataset, name) for name in ("samples", *names)])


_DESCRIBE: dict[str, Callable[[ExportBundle, Any], Reading]] = {
    "idx": _describe_idx,
    "image_folder": _describe_image_folder,
    "table": describe_table,
    "text": describe_text,
}


_DRAWS = {
    "class": ("hold_back_by_class", ""),
    "group": ("hold_back_groups", "group_numbers(frame[GROUP_COLUMN])[train]"),
    "time": ("hold_back_newest", "rank_moments(frame[TIME_COLUMN])[train]"),
}
"""The function of core that holds samples out, and by what; "" for the classes."""


def _of_left(share: str, other: str) -> str:
    """A share of all, as one of those that are left when the part ``other`` is held out."""
    return f'{share} * (len(train) + len(parts["{other}"])) / len(train)'


@dataclass(frozen=True)
class Data:
    """Where samples come from, and which are held out: ``held`` has the part, the share and the stream of random numbers of
    each, ``draw`` is the function that draws them, by ``kinds``."""

    reading: Reading
    settings: list[Setting]
    path: bool
    file: str = ""
    """Of the samples, beside the script, with its size in words."""
    held: Sequence[tuple[str, str, str]] = ()
    draw: str = ""
    kinds: str = ""
    seeded: bool = True
    excluded: bool = False
    copies: bool = False
    tested: bool = False
    drawn: bool = False
    """Whether the training samples are drawn anew in each epoch, by a Dataset beside the script."""


def describe_data(bundle: ExportBundle, file: str) -> Data:
    """For the templates; ``file`` is the script's name. Raises InputError when the dataset would be needed and is gone."""
    if bundle.prepared is not None:
        return _describe_prepared(bundle, bundle.prepared, data_name(file))
    dataset = bundle.config.dataset
    reading = _DESCRIBE.get(dataset.kind, _describe_toy)(bundle, dataset)
    split_column, group_column = (getattr(dataset, name, None) for name in ("split_column", "group_column"))
    time_column = getattr(dataset, "time_column", None)
    wanted, parts = dataset.validation if isinstance(dataset, PartsSection) else "auto", dict(reading.parts)
    # What judges: a part that came with the data, "test", or one that is held out.
    given = isinstance(dataset, TextDataset) or (wanted == "auto" and "validation" in parts)
    if not given:
        parts.pop("validation", None)
    if wanted == "test":
        parts = {"validation" if part == "test" else part: named for part, named in parts.items()}
    held = [] if given or wanted == "test" else [("validation", "VALIDATION_FRACTION", "split")]
    if dataset.test_fraction and wanted != "test":
        share = _of_left("TEST_FRACTION", "validation") if held else "TEST_FRACTION"
        held.append(("test", share, "test split"))
    if time_column is not None and len(held) > 1:  # the newest are to test on
        held = [("test", "TEST_FRACTION", ""), ("validation", _of_left("VALIDATION_FRACTION", "test"), "")]
    place = getattr(dataset, "path", "")
    settings = [Setting("", "DATA", code(place))] * bool(place) + reading.settings
    if isinstance(dataset, IdxDataset):
        settings.append(Setting("", "FILES", parts))
    if isinstance(dataset, ImageFolderDataset):
        settings.append(Setting("Each part and its folder.", "PARTS", parts))
    if split_column:
        words = "The column that says which part a row belongs to."
        settings.append(Setting(words, "SPLIT_COLUMN", code(split_column)))
        part_of = {word: part for part, words in parts.items() for word in words}
        settings.append(Setting("The part that each of its words means, in lower case.", "PARTS", part_of))
    if held and group_column is not None:
        settings.append(setting(dataset, "group_column"))
    if held and time_column is not None:
        settings.append(setting(dataset, "time_column"))
    excluded = _read_excluded(bundle)
    settings += [Setting("The numbers of the samples that are left out.", "EXCLUDED", excluded)] * bool(excluded)
    draw, kinds = _DRAWS["time" if time_column is not None else "group" if group_column is not None else "class"]
    of_class = "classes[train]" if bundle.facts.target == "class" else "torch.zeros_like(train)"
    return Data(
        reading=reading,
        settings=settings + _input_settings(bundle, [part for part, _, _ in held], seeded=time_column is None),
        path=bool(place),
        held=held,
        draw=draw,
        kinds=kinds or of_class,
        seeded=time_column is None,
        excluded=bool(excluded),
        copies=isinstance(dataset, PartsSection) and dataset.duplicates != "keep",
        tested="test" in parts or any(part == "test" for part, _, _ in held),
    )


def _read_excluded(bundle: ExportBundle) -> list[int]:
    """The numbers of the samples that the run's exclude list left out, as the run reported them. Raises InputError where it did not."""
    if getattr(bundle.config.dataset, "exclude", None) is None:
        return []
    found = read_json(bundle.run.data_file).get("excluded")
    if not isinstance(found, list):
        raise InputError(
            f"{bundle.run.data_file}: does not say which samples the exclude list left out; resume the run, which writes it again."
        )
    return [number for number in found if isinstance(number, int)]


def data_name(file: str) -> str:
    """What the file with the samples is called that lies beside the script ``file``."""
    return f"data_of_{Path(file).stem}.npz"


def has_same_draws(bundle: ExportBundle, script: ModuleType) -> bool:
    """Whether the script draws the first training samples as the run does, in two epochs."""
    if bundle.prepared is None or not draws_anew(bundle.config):
        return True
    source, numbers = bundle.prepared.source, bundle.prepared.splits["train"][:SAMPLES]
    for epoch in (0, 1):
        samples, targets = source.batch_reader.read(source.at_epoch(numbers, epoch))
        found, truth = script.draw_batch(script.open_dataset(), numbers, epoch)
        if source.target == "mask":
            samples, targets = samples[..., :-1], samples[..., -1].to(truth.dtype)
        if not (torch.equal(found, samples) and torch.equal(truth, targets)):
            return False
    return True


def _describe_prepared(bundle: ExportBundle, prepared: PreparedTensors, name: str) -> Data:
    drawn = draws_anew(bundle.config)
    reading = Reading(
        [f"samples, {TRUTH[prepared.source.target]}, parts = read_prepared(path, DATA_DIGEST)"],
        [
            Setting("", "DATA", f"Path(__file__).with_name({code(name)})"),
            Setting("What the file with the samples has to say.", "DATA_DIGEST", code(prepared.digest)),
        ],
        unreadable=", EOFError, BadZipFile",
        packages=["numpy", "pillow"] if drawn else ["numpy"],
    )
    drawing = [setting(bundle.config.dataset, "split_seed"), Setting("", "CLASSES", prepared.source.classes)] * drawn
    return Data(
        reading=reading,
        settings=reading.settings + drawing + _input_settings(bundle, []),
        path=True,
        file=f"{name} ({len(prepared.source.targets):,} samples, {format_bytes(prepared.size)})",
        tested="test" in prepared.splits,
        drawn=drawn,
    )


def _input_settings(bundle: ExportBundle, held: list[str], seeded: bool = True) -> list[Setting]:
    """How samples are augmented and normalized, after the shares of the parts that are ``held`` out."""
    names = list_augmentation_settings(bundle.config)
    if held:
        names += [*(f"{part}_fraction" for part in held), *["split_seed"] * seeded]
    settings = [setting(bundle.config.dataset, name) for name in names]
    if bundle.facts.layout == "tokens":
        return settings
    model = bundle.config.model
    as_known = isinstance(model, StartingWeights) and model.normalise == "weights"
    known = as_known and (getattr(model, "weights", None) or getattr(model, "pretrained", None))
    where = "As the weights know images." if known else "Measured on the training samples."
    mean, std = bundle.normalization.mean, bundle.normalization.std
    return [*settings, Setting(where, "MEAN", mean), Setting("", "STD", std)]
