"""What the script of a run says about a set that torchvision knows by name: it reads the files where the run found them."""

from __future__ import annotations

from training.config.torchvision_sets import TorchvisionDataset
from training.data.folder import list_folder
from training.data.known import KNOWN_SETS
from training.data.known.place import bring, root_of
from training.data.known.records import Cifar
from training.data.source import Opening, silent
from training.data.sources.torchvision_set import idx_files, idx_folder
from training.errors import InputError
from training.export.dataset_again import looking_again
from training.export.material import Material
from training.export.picture_listing import folder_facts, idx_parts
from training.export.written import Described

_CIFAR = ("CIFAR10", "CIFAR100")


def refuse_known_set(dataset: TorchvisionDataset, instead: str) -> None:
    """Raise InputError for a set in files of a form that no template reads."""
    if KNOWN_SETS[dataset.name].form not in ("idx", "folder") and dataset.name not in _CIFAR:
        raise InputError(f"dataset.name: a script cannot read {dataset.name} yet; {instead}.")


def describe_known_set(material: Material, dataset: TorchvisionDataset) -> Described:
    known, fetched = KNOWN_SETS[dataset.name], dataset.model_copy(update={"download": False})
    with looking_again():
        if known.form == "idx":
            files = idx_files(dataset)
            place = idx_folder(root_of(dataset), known, files[0][1])
            if place is None:
                raise InputError(f"dataset.path: {dataset.name} is not in {root_of(dataset)} any more.")
            return {"dataset": "idx", "place": str(place), "parts": idx_parts(material, place, files)}, []
        place = bring(fetched, known, Opening(check=False)) / known.files[0].makes
        if dataset.name in _CIFAR:
            form = Cifar(place, fine=not known.classes)
            return {"dataset": "cifar", "place": str(place), "parts": form.files, "labels": form.labels}, []
        listing = list_folder(place, silent)
    groups = {listing.groups[owner] for owner in set(listing.owners)}
    facts, settings = folder_facts(material, listing, sorted(name for part, name in groups if part == "train"))
    return facts | {"dataset": "image_folder", "place": str(place)}, settings
