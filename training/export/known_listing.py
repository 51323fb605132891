"""What the script of a run says about a set that torchvision knows by name: it reads the files where the run found them.

A new row of ``KNOWN_SETS`` or ``MASKED`` in the form of class folders, lists, or lists with masks needs nothing here: the script
takes the set's function of ``known.lists`` along as it stands there. Where that reads a file by a new function of
``known.list_files``, ``plain_lists`` needs a plain one of the same name. A list in a form of its own is named in ``_OWN_LISTS``; small
pictures in files of a form of their own need a function in ``plain_packed``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from torch import Tensor

from training.config.torchvision_sets import KnownSetSection, TorchvisionDataset, TorchvisionSegmentationDataset
from training.data import mat_file
from training.data.folder import list_folder
from training.data.known import KNOWN_SETS, MASKED, KnownSet, list_files
from training.data.known.cars import cars
from training.data.known.faces import faces
from training.data.known.lists import LISTS, MASK_LISTS, Listed, asked_for
from training.data.known.place import bring, root_of
from training.data.masks import UNKNOWN
from training.data.source import Opening, silent
from training.data.sources.torchvision_masks import mask_form
from training.data.sources.torchvision_set import idx_files, idx_folder
from training.errors import InputError
from training.export import plain_lists, plain_packed
from training.export.dataset_again import looking_again
from training.export.definitions import Definitions
from training.export.material import Material
from training.export.picture_listing import folder_facts, idx_parts, mask_facts, size_settings
from training.export.written import Described, code
from training.facts import IGNORED_PIXEL

_OWN_LISTS: dict[str, Callable[[Path], Listed | tuple[Listed, Tensor]]] = {"cars": cars, "faces": faces}
"""By the form of the set: those that say more than which class each picture is of, or say it in records."""


def describe_known_set(material: Material, dataset: TorchvisionDataset) -> Described:
    known = KNOWN_SETS[dataset.name]
    with looking_again():
        if known.form == "idx":
            files = idx_files(dataset)
            place = idx_folder(root_of(dataset), known, files[0][1])
            if place is None:
                raise InputError(f"dataset.path: {dataset.name} is not in {root_of(dataset)} any more.")
            return {"dataset": "idx", "place": str(place), "parts": idx_parts(material, place, files)}, []
        place = _place(dataset, known)
        if function := _OWN_LISTS.get(known.form) or LISTS.get(dataset.name):
            return _listed(dataset, place, function), size_settings(material)
        place /= known.files[0].makes
        if known.form != "folder":
            return _packed(dataset, place), []
        listing = list_folder(place, silent)
    groups = {listing.groups[owner] for owner in set(listing.owners)}
    facts, settings = folder_facts(material, listing, sorted(name for part, name in groups if part == "train"))
    return facts | {"dataset": "image_folder", "place": str(place)}, settings


def describe_known_masks(material: Material, dataset: TorchvisionSegmentationDataset) -> Described:
    with looking_again():
        place = _place(dataset, MASKED[dataset.name])
        facts = _listed(dataset, place, MASK_LISTS[dataset.name])
    form = mask_form(dataset)
    indices = {value: number for value, number in enumerate(form.codes) if number != UNKNOWN}
    indices[IGNORED_PIXEL] = IGNORED_PIXEL
    of_color = dict(zip(form.colors, form.codes, strict=False))  # a code more may say what is ignored
    more, settings = mask_facts(of_color, indices, form.ignore_unknown)
    return facts | more, [*settings, *size_settings(material)]


def _place(dataset: KnownSetSection, known: KnownSet) -> Path:
    return bring(dataset.model_copy(update={"download": False}), known, Opening(check=False))


def _listed(
    dataset: KnownSetSection,
    place: Path,
    function: Callable[..., Listed | tuple[Listed, Tensor] | Iterator[tuple[str, str, str]]],
) -> dict[str, Any]:
    arguments = asked_for(function, dataset)
    found = function(place, **arguments)
    lists = Definitions(
        given=[*((list_files.__name__, name) for name in list_files.__all__), (mat_file.__name__, "read_list")]
    )
    lists.take(sys.modules[function.__module__], function.__name__)
    plain = Definitions()
    for name in sorted(lists.used):
        plain.take(plain_lists, name)
    words = ["root", *(f"{name}={code(value)}" for name, value in arguments.items())]
    listed = found[0] if isinstance(found, tuple) else found
    return {
        "dataset": "listed",
        "place": str(place),
        "parts": _parts(place, listed.rows if isinstance(listed, Listed) else listed),
        "list_call": f"{function.__name__}({', '.join(words)}){'.rows' * isinstance(found, Listed)}",
        "reading_code": f"{plain.text}\n\n\n{lists.text}",
        "data_imports": [*plain.imports, *lists.imports],
    }


def _parts(place: Path, rows: Iterable[tuple[str, Any, str]]) -> dict[str, str]:
    """Those of which there is a picture, or its mask."""
    parts: dict[str, str] = {}
    for part, _, file in rows:
        if part not in parts and (place / file).is_file():
            parts[part] = ""
    return parts


def _packed(dataset: KnownSetSection, place: Path) -> dict[str, Any]:
    reader = plain_packed.PACKED[dataset.name]
    plain = Definitions()
    plain.take(plain_packed, reader.__name__)
    return {
        "dataset": "packed",
        "place": str(place),
        "parts": {"train": "", "test": ""} if len(reader(place, "test")[1]) else {"train": ""},
        "reader": reader.__name__,
        "reading_code": plain.text,
        "data_imports": plain.imports,
    }
