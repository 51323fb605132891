"""The requirements file of a run's environment: each package with its version and the digests of its files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from training.environment import Environment, SourceState
from training.errors import pluralize
from training.requirements.indexes import Release
from training.system.installed import Package
from training.system.untrusted import escape_unprintable

OURS = "trainwright"
_INSTALLER = "pip"


@dataclass(frozen=True)
class LeftOut:
    """A package without a digest: why, and what to do instead."""

    package: Package
    reason: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.package.name} {self.package.version} {self.reason}; {self.remedy}"


@dataclass(frozen=True)
class Lock:
    """``text`` is the whole file; ``complete`` says whether nothing but Trainwright itself is missing in it."""

    text: str
    packages: int
    digests: int
    left_out: tuple[LeftOut, ...]
    notes: tuple[str, ...]

    @property
    def complete(self) -> bool:
        return all(item.package.name == OURS for item in self.left_out)


def needs_index(package: Package) -> bool:
    """Whether an index is asked for its digests."""
    return package.name != _INSTALLER and package.origin in ("index", "system", "archive")


def write_lock(
    run: str,
    environment: Environment,
    packages: Sequence[Package],
    releases: Mapping[str, Release],
    markers: Mapping[str, str],
) -> Lock:
    """The file for ``packages`` of a run that was computed in ``environment``. No address of an index is in it."""
    if all(package.name != OURS for package in packages):  # not installed, but found on PYTHONPATH
        packages = [*packages, Package(OURS, environment.trainwright or "", "folder")]
    lines: list[str] = []
    left_out: list[LeftOut] = []
    notes: list[str] = []
    count = digests = 0
    for package in packages:
        if package.name == _INSTALLER:
            continue
        release = releases.get(package.name, Release())
        known = _digests(package, release)
        if not known:
            left_out.append(_explain(package, environment.code.get(OURS, SourceState())))
            continue
        count, digests = count + 1, digests + len(known)
        notes += _note(package, release)
        lines.append(_format(package, known, release, markers.get(package.name, "")))
    from_system = [package.name for package in packages if package.origin == "system" and package.name in releases]
    if from_system:
        notes.append(
            f"{', '.join(from_system[:5])}{' ...' if len(from_system) > 5 else ''} came by conda or the system's package manager: "
            "the index's builds of the same versions stand in for them."
        )
    head = [
        f"# The environment of the run {run}: Python {environment.python} on {environment.platform}.",
        "# Into an empty environment of that Python:",
        "#     python -m pip install --no-deps --require-hashes --requirement THIS_FILE",
        "# pip itself is not in it.",
        *(f"# Not in it: {item}." for item in left_out),
        *(f"# {note}" for note in notes),
    ]
    text = "\n".join([*(escape_unprintable(line) for line in head), *lines]) + "\n"
    return Lock(text, count, digests, tuple(left_out), tuple(notes))


def describe(lock: Lock) -> str:
    """How much is in it."""
    return f"{pluralize(lock.packages, 'package')} with {pluralize(lock.digests, 'digest')}"


def _digests(package: Package, release: Release) -> tuple[str, ...]:
    """SHA-256 of what pip may install for it. A wheel that was named by its place is that wheel alone."""
    if package.origin == "archive":
        return (package.sha256,) if package.sha256 else ()
    return tuple(sorted(set(release.digests.values()))) if package.origin in ("index", "system") else ()


def _format(package: Package, digests: Sequence[str], release: Release, marker: str) -> str:
    elsewhere = package.origin == "archive" and package.sha256 not in release.digests.values()
    named = elsewhere and urlsplit(package.url).scheme in ("http", "https")
    requirement = f"{package.name} @ {package.url}" if named else f"{package.name}=={package.version}"
    if marker:
        requirement += f" ; {marker}"
    return " \\\n".join([requirement, *(f"    --hash=sha256:{digest}" for digest in digests)])


def _note(package: Package, release: Release) -> Iterator[str]:
    if release.yanked is not None:
        reason = f": {release.yanked.rstrip('.')}" if release.yanked else ""
        yield f"{package.name} {package.version} was withdrawn by its makers (yanked){reason}; pip installs it with a warning."
    unknown = package.origin == "archive" and package.sha256 not in release.digests.values()
    if unknown and urlsplit(package.url).scheme == "file":
        yield (
            f"{package.name} {package.version} was installed from the file {package.url}, which no index has: give pip its "
            "folder (--find-links FOLDER)."
        )


def _explain(package: Package, ours: SourceState) -> LeftOut:
    """Why it has no digest, and how to have it all the same."""
    name, install = package.name, "pip install --no-deps"
    if package.origin in ("editable", "folder"):
        if name == OURS:
            changes = ", with changes that are not in it" if ours.dirty else ""
            where = f"at commit {ours.commit}{changes}" if ours.commit else "which is in no repository"
            folder = f" {package.url}" if package.url else ""
            remedy = f"{install} FOLDER of the same state, or put it on PYTHONPATH"
            return LeftOut(package, f"ran from a folder{folder}, {where}", remedy)
        return LeftOut(package, f"is installed from the folder {package.url}", f"copy it and {install} FOLDER")
    if package.origin == "repository":
        return LeftOut(package, "is installed from a repository", f"{install} 'git+{package.url}@{package.commit}'")
    if package.origin == "archive":
        return LeftOut(package, f"was installed from {package.url}, whose digest was not noted", f"{install} that file")
    public, _, local = package.version.partition("+")
    other = (
        f"{name}'s makers have an index of their own for builds like {local}" if local else "another index may have it"
    )
    return LeftOut(
        package,
        "is in no index that pip knows here",
        f"{other}: name it in PIP_EXTRA_INDEX_URL and write the file again, or take {name}=={public} without digests",
    )
