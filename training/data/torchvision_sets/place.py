"""Where the files of a known set lie: found there, or fetched and unpacked."""

from __future__ import annotations

import shutil
from pathlib import Path

from training.config.sections.data.torchvision_sets import KnownSetSection
from training.data.download import Remote, download, is_whole, require_room, unpack
from training.data.source import Opening
from training.data.torchvision_sets.row import KnownSet, own_folder
from training.errors import InputError, format_bytes

AGAIN = "Delete the file, and get it again."


def root_of(dataset: KnownSetSection) -> Path:
    """Below it, all sets lie."""
    return Path(dataset.path) if dataset.path else own_folder()


def bring(dataset: KnownSetSection, known: KnownSet, opening: Opening, begun: Path | None = None) -> Path:
    """The folder below which the files lie as torchvision leaves them, after fetching and unpacking what is missing.
    ``begun`` is where some of them were found. Raises InputError."""
    root = root_of(dataset)
    places = [begun] if begun else list(dict.fromkeys((root / known.folder, root)))
    for place in places:
        if not _list_wanted(dataset, known, place):
            return place
    place = next(
        (place for place in places if any((place / remote.name).exists() for remote in known.files)), places[0]
    )
    missing = _list_wanted(dataset, known, place)
    absent = [remote for remote in missing if not (place / remote.name).exists()]
    if absent:
        _require_download(dataset, known, place, absent, opening)
    elif not opening.check:
        raise InputError(
            f"{place / missing[0].name} is not unpacked yet.", "That is done when the run starts, or by Check."
        )
    fetched = known.bytes if len(absent) == len(known.files) else 0
    unpacked = known.unpacked if any(remote.makes for remote in missing) else 0
    require_room(place, fetched + unpacked, dataset.name)
    for remote in missing:
        if _is_there(place, remote):  # by now: another run was at it
            continue
        archive = place / remote.name
        if remote in absent:
            later = [other.name for other in absent[absent.index(remote) + 1 :]]
            download(remote, place, opening.report_progress, later)
        else:
            opening.report_progress(f"checking {remote.name}", None)
            require_whole(archive, remote)
        if remote.makes:
            _unpack(archive, remote, place, opening)
    return place


def _list_wanted(dataset: KnownSetSection, known: KnownSet, place: Path) -> list[Remote]:
    """What is still to be fetched or unpacked. Where the rest lies already, an extra part is left where it is unless
    the settings ask for it."""
    missing = [remote for remote in known.files if not _is_there(place, remote)]
    fetching = dataset.download and any(not remote.extra and not (place / remote.name).exists() for remote in missing)
    extras = fetching or dataset.validation == "test"
    return [remote for remote in missing if not remote.extra or extras or (place / remote.name).exists()]


def _is_there(place: Path, remote: Remote) -> bool:
    if remote.makes:
        return (place / remote.makes).exists()
    names = (remote.name, remote.name.removesuffix(".gz"), *remote.instead)
    return any((place / name).exists() for name in names)


def _unpack(archive: Path, remote: Remote, place: Path, opening: Opening) -> None:
    unpack(archive, place, opening.report_progress, remote.inner or remote.packed_as or remote.makes)
    if remote.packed_as:
        (place / remote.packed_as).rename(place / remote.makes)
    if remote.inner:
        unpack(place / remote.inner, place, opening.report_progress, remote.makes)
        shutil.rmtree(place / Path(remote.inner).parts[0])


def _require_download(
    dataset: KnownSetSection, known: KnownSet, place: Path, absent: list[Remote], opening: Opening
) -> None:
    """Raise InputError where nothing is to be fetched: nobody can, the settings say so, or this is only a preview."""
    root, names = root_of(dataset), ", ".join(remote.name for remote in absent)
    begun = any(_is_there(place, remote) or (place / remote.name).exists() for remote in known.files)
    missing = f"{dataset.name} is not whole in {place}" if begun else f"{dataset.name} is not in {root} yet"
    if known.by_hand:
        lacks = f" ({names} missing)" if begun else ""
        raise InputError(f"{missing}{lacks}, and no program can fetch it.", f"{known.by_hand} {place}.")
    if not dataset.download:
        pickled = {"CIFAR10": "cifar-10-batches-py", "CIFAR100": "cifar-100-python"}.get(dataset.name)
        theirs = pickled is not None and (root / pickled).is_dir()
        why = f"; {pickled} holds Python pickles, which may be programs and are never opened" if theirs else ""
        raise InputError(f"{missing}{why}.", f"Switch dataset.download on, or put {names} there.")
    if not opening.check:
        room = f", {format_bytes(known.bytes + known.unpacked)} on the disk" if known.unpacked else ""
        size = f"{format_bytes(known.bytes)}{room}"
        what = f"What is missing is downloaded ({names})" if begun else f"It is downloaded ({size})"
        raise InputError(f"{missing}.", f"{what} when the run starts; Check downloads it now.")


def require_whole(path: Path, remote: Remote) -> None:
    """Raise InputError for a file that is not the one its makers published."""
    try:
        whole = not remote.digest or is_whole(path, remote)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}.", AGAIN) from error
    if not whole:
        raise InputError(f"{path} is damaged, or another file than it should be.", AGAIN)
