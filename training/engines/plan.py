"""Which files make an engine: asked of pip, which resolves them without fetching any."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import training
from training.engines.fetch import Fetcher, Wheel
from training.engines.kinds import Machine, explain_build, find_index
from training.engines.request import Request
from training.engines.requirements import list_requirements
from training.errors import Canceled, InputError
from training.system.installed import canonical_name, without_secrets
from training.system.installer_words import find_cause, last_words
from training.system.interpreter import without_python
from training.system.pip_settings import PipSettings, read_pip_settings
from training.system.resources import find_checkout, find_engine_wheel
from training.system.untrusted import parse_json

_OF_TORCH = ("torch", "torchvision")
_INDEX_VARIABLES = ("PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS", "PIP_NO_INDEX", "PIP_CONSTRAINT")
_LOOK_SECONDS = 0.1
_NEW_PIP = "24.1"
_REMEDIES: Final = {
    "network": "Check the network, the proxy, or name another package index; offline, a folder of wheels.",
    "proxy": "Check its address; or name another package index, or a folder of wheels.",
    "refused": "Name another package index, or a folder of wheels.",
    "missing": "Name another package index or folder of wheels.",
}


@dataclass(frozen=True)
class Plan:
    """The files, in no order that matters."""

    wheels: tuple[Wheel, ...]

    @property
    def size(self) -> int:
        """Bytes of all; 0 where one of them is not known."""
        return sum(each.size for each in self.wheels) if all(each.size for each in self.wheels) else 0

    def dump(self) -> list[dict[str, Any]]:
        """For ``parse_plan``."""
        return [vars(each) for each in self.wheels]


def parse_plan(record: object) -> Plan | None:
    """What ``dump`` made; None for anything else."""
    try:
        return Plan(tuple(Wheel(**each) for each in record)) if isinstance(record, list) and record else None
    except TypeError:
        return None


def make_plan(python: Path, request: Request, machine: Machine, is_given_up: Callable[[], bool]) -> Plan:
    """Ask for what ``python``, of an empty environment with pip, needs. Raises InputError where an index cannot be had, or has another
    build of torch than was asked for: before anything is fetched."""
    settings = read_pip_settings(str(python), without_python(os.environ))
    needed = [str(each) for each in list_requirements()]
    if (
        find_checkout() is None and find_engine_wheel() is None
    ):  # a pip installation: the index that had it has it once more
        needed.append(f"trainwright[engine]=={training.__version__}")
    resolve = _Resolver(python, request, settings, is_given_up)
    resolve.renew_pip()
    special = "" if request.index or request.wheels else find_index(request.sort, machine)
    if special:
        of_torch = [text for text in needed if _name_of(text) in _OF_TORCH]
        found = resolve(of_torch, ["--index-url", special], alone=True)
        pins = [f"{each.name}=={each.version}" for each in found if each.name in _OF_TORCH]
        rest = [text for text in needed if _name_of(text) not in _OF_TORCH]
        wheels = resolve([*pins, *rest], ["--extra-index-url", special])
    else:
        wheels = resolve(needed, _index_options(request), alone=bool(request.index or request.wheels))
    _check_build(request, wheels)
    return Plan(tuple(Fetcher(is_given_up, request.proxy, settings).find_sizes(wheels)))


def pip_environment(request: Request, settings: PipSettings | None = None) -> dict[str, str]:
    """The variables of pip. With ``settings`` those indexes alone are used that its options name: an index that is away would else be
    replaced by another one, in silence."""
    environment = without_python(os.environ) | {"PYTHONIOENCODING": "utf-8", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    if settings is not None:
        environment = {name: value for name, value in environment.items() if name not in _INDEX_VARIABLES}
        environment["PIP_CONFIG_FILE"] = os.devnull
        if settings.certificates:
            environment["PIP_CERT"] = settings.certificates
    if request.proxy:
        environment |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), request.proxy)
    return environment


def run_pip(command: Sequence[str], environment: Mapping[str, str], is_given_up: Callable[[], bool], work: str) -> None:
    """Run an installer. Raises InputError that says why ``work`` did not come about, Canceled, OSError."""
    with tempfile.TemporaryFile() as told:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=told,
            stderr=subprocess.STDOUT,
            env=dict(environment),
            start_new_session=os.name == "posix",
            creationflags=getattr(subprocess, "CREATE_NO_WINDOW", 0),
        )
        try:
            while process.poll() is None:
                if is_given_up():
                    raise Canceled("Canceled; what was downloaded is kept.")
                time.sleep(_LOOK_SECONDS)
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
        if process.returncode:
            told.seek(0)
            raise explain_installer(told.read().decode("utf-8", "replace"), work)


def explain_installer(told: str, work: str) -> InputError:
    """Why an installer failed, from what it said."""
    cause = find_cause(told)
    if cause is not None:
        if cause.kind == "disk":
            return DiskFull(work)
        return InputError(f"{work}: {cause.sentence}.", cause.remedy or _REMEDIES[cause.kind])
    return InputError(f"{work}: {last_words(told).replace(chr(10), ' ') or 'the installer failed and said nothing'}")


class DiskFull(InputError):
    """There is no room."""

    def __init__(self, work: str) -> None:
        super().__init__(f"{work}: the disk is full.", "Nothing half made is left; make room, and install once more.")


class _Resolver:
    def __init__(self, python: Path, request: Request, settings: PipSettings, is_given_up: Callable[[], bool]) -> None:
        self._python, self._request, self._settings = python, request, settings
        self._is_given_up = is_given_up

    def renew_pip(self) -> None:
        """Before 24.1 it fetches what it only is to resolve. Where there is no newer one to be had, that is slower, and no less right."""
        command = [str(self._python), "-m", "pip", "install", "--quiet", "--no-input", "--upgrade", f"pip>={_NEW_PIP}"]
        alone = bool(self._request.index or self._request.wheels)
        environment = pip_environment(self._request, self._settings if alone else None)
        with suppress(InputError):
            run_pip([*command, *_index_options(self._request)], environment, self._is_given_up, "pip is not renewed")

    def __call__(self, requirements: Sequence[str], options: Sequence[str], alone: bool = False) -> list[Wheel]:
        """The files of ``requirements``. ``alone``: pip's own settings of indexes do not count."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            words = ["install", "--dry-run", "--ignore-installed", "--no-input", "--only-binary", ":all:"]
            words.append("-vv")  # tells which pages could not be fetched, and why
            command = [str(self._python), "-m", "pip", *words, "--report", str(report), *options, *requirements]
            environment = pip_environment(self._request, self._settings if alone else None)
            run_pip(command, environment, self._is_given_up, "Nothing was downloaded")
            return _read_report(parse_json(report.read_bytes()))


def _read_report(report: Any) -> list[Wheel]:
    """https://pip.pypa.io/en/stable/reference/installation-report"""
    wheels = []
    for item in report["install"]:
        source, metadata = item["download_info"], item["metadata"]
        digest = source.get("archive_info", {}).get("hashes", {}).get("sha256", "")
        wheels.append(Wheel(canonical_name(metadata["name"]), metadata["version"], source["url"], digest))
    return wheels


def _index_options(request: Request) -> list[str]:
    links = ["--find-links", request.wheels] if request.wheels else []
    if request.index:
        return ["--index-url", request.index, *links]
    return ["--no-index", *links] if links else []


def _check_build(request: Request, wheels: Sequence[Wheel]) -> None:
    torch = next((each for each in wheels if each.name == "torch"), None)
    if torch is None:
        return
    other = explain_build(request.sort, torch.version, [each.name for each in wheels])
    if other:
        raise InputError(
            f"Nothing was downloaded: {without_secrets(request.index) or request.wheels or 'the package index'} has torch {torch.version} for "
            f"{other} and not the {request.sort.title} build that was asked for.",
            "Name an index that has it, or install the other kind.",
        )


def _name_of(requirement: str) -> str:
    return re.split(r"[<>=!~\[ ;]", requirement, maxsplit=1)[0]
