"""Makes an engine: an environment of its own in the person's data folder, whole and checked, or not there at all."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout
from pydantic import BaseModel, ConfigDict

import training
from training.engines.answer import Answer
from training.engines.fetch import Fetcher
from training.engines.kinds import Machine, estimate_size, explain_refusal, look_at_this_machine
from training.engines.places import ENGINE_FILE, PARTIAL, engines_folder, read_record, write_record
from training.engines.plan import DiskFull, Plan, make_plan, parse_plan, pip_environment, run_pip
from training.engines.request import UV_PYTHON, Progress, Report, Request, check_request
from training.engines.search import interpreter_of
from training.engines.trial import judge_engine, try_engine
from training.errors import Canceled, InputError, format_bytes
from training.system.installed import without_secrets
from training.system.interpreter import is_frozen, without_python
from training.system.pip_settings import PipSettings, read_pip_settings
from training.system.resources import find_engine_wheel

_PLAN, _PROGRESS, _WHEELS, _MADE = "plan.json", "progress.json", "wheels", "environment"
_UNPACKED = 2.2
"""How much larger packages are on the disk than their files."""
_NOTHING = 1 << 21  # bytes
_REPORTED_EVERY = 0.2  # seconds
_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))


class Installed(BaseModel):
    """What came of it. ``told`` is a sentence where it is not what was asked for."""

    model_config = ConfigDict(frozen=True)

    name: str
    python: str
    kind: str
    torch: str
    build: str
    told: str = ""


class Unfinished(BaseModel):
    """An installation that was canceled or cut off, or is under way in some process (``is_busy``)."""

    model_config = ConfigDict(frozen=True)

    request: Request
    progress: Progress
    is_busy: bool


def install(
    request: Request,
    report: Report,
    is_given_up: Callable[[], bool] = lambda: False,
    machine: Machine | None = None,
    anyway: bool = False,
) -> Installed:
    """Make the engine that ``request`` asks for, or go on with it where it was canceled or cut off.

    Raises InputError saying what stands in the way, with nothing half made but what can be gone on with, and Canceled.
    ``anyway``: also one that makes no sense on this machine.
    """
    machine = machine or look_at_this_machine()
    refuse(request, machine, anyway)
    folder = engines_folder() / request.title
    place = folder.with_name(folder.name + PARTIAL)
    with _explain_disk(place), _hold(place):
        return _Installation(request, machine, folder, place, report, is_given_up).run()


def refuse(request: Request, machine: Machine, anyway: bool = False) -> None:
    """Raise InputError where ``install`` would, before anything is made or asked of the network."""
    problem = check_request(request) or ("" if anyway else explain_refusal(request.sort, machine))
    if problem:
        raise InputError(problem)
    if (engines_folder() / request.title).exists():
        raise InputError(
            f"There is an engine {request.title} already.", "Remove it first, or give this one another name."
        )


def list_unfinished() -> list[Unfinished]:
    """Those that can be gone on with."""
    found = []
    for place in sorted(engines_folder().glob(f"*{PARTIAL}")):
        record = read_record(place / _PLAN)
        try:
            request = Request.model_validate(record.get("request"))
            progress = Progress.model_validate(read_record(place / _PROGRESS))
        except ValueError:  # cut off before it was written, or damaged
            continue
        found.append(Unfinished(request=request, progress=progress, is_busy=_is_held(place)))
    return found


def discard(name: str) -> None:
    """Delete what there is of an unfinished engine. Raises InputError where somebody works on it, or it cannot be deleted."""
    place = engines_folder() / f"{name}{PARTIAL}"
    with _explain_disk(place), _hold(place):
        shutil.rmtree(place)


def check_room(folder: Path, needed: float) -> None:
    """Raise InputError where the disk of ``folder`` has not ``needed`` bytes."""
    place = next(each for each in (folder, *folder.parents) if each.exists())
    free = shutil.disk_usage(place).free
    if free < needed:
        raise InputError(
            f"The engine needs about {format_bytes(needed)} in {folder}, and {format_bytes(free)} are free.",
            "Make room, and install once more.",
        )


def _is_full(folder: Path) -> bool:
    """Whether nothing can be written there any more: not every installer says so."""
    return shutil.disk_usage(folder).free < _NOTHING


class _Installation:
    def __init__(
        self,
        request: Request,
        machine: Machine,
        folder: Path,
        place: Path,
        report: Report,
        is_given_up: Callable[[], bool],
    ) -> None:
        self._request, self._machine = request, machine
        self._folder, self._partial = folder, place
        self._report, self._is_given_up = report, is_given_up
        self._python = interpreter_of(place / _MADE)
        self._reported = 0.0

    def run(self) -> Installed:
        kept = read_record(self._partial / _PLAN)
        plan = parse_plan(kept.get("wheels"))
        if plan is not None and kept.get("request") != self._request.model_dump():
            name = self._request.title
            raise InputError(
                f"There is an unfinished engine {name} that was asked for with other settings.",
                f"Give the same ones to go on with it, or discard it: python -m training engines remove {name}",
            )
        if plan is None:
            shutil.rmtree(self._partial, ignore_errors=True)  # cut off before anything was downloaded
            check_room(self._folder, estimate_size(self._request.sort, self._machine).disk)
        (self._partial / _WHEELS).mkdir(parents=True, exist_ok=True)
        write_record(self._partial / _PLAN, {"request": self._request.model_dump(), "wheels": kept.get("wheels") or []})
        self._tell(Progress(stage="preparing"))
        if plan is None:
            plan = self._prepare()
        else:
            make_environment(self._partial / _MADE, self._request, self._is_given_up)
        self._download(plan)
        self._unpack(plan)
        return self._finish()

    def _prepare(self) -> Plan:
        """The environment, and what goes into it. What fails leaves nothing: there is nothing yet to go on with."""
        try:
            make_environment(self._partial / _MADE, self._request, self._is_given_up)
            self._tell(Progress(stage="resolving"))
            plan = make_plan(self._python, self._request, self._machine, self._is_given_up)
            check_room(self._folder, plan.size * (1 + _UNPACKED))
        except InputError as error:
            full = _is_full(self._partial)  # asked before there is room again
            shutil.rmtree(self._partial)
            if full:
                raise DiskFull(f"The engine could not be installed in {self._partial.parent}") from error
            raise
        write_record(self._partial / _PLAN, {"request": self._request.model_dump(), "wheels": plan.dump()})
        return plan

    def _download(self, plan: Plan) -> None:
        settings = read_pip_settings(str(self._python), without_python(os.environ))
        fetcher = Fetcher(self._is_given_up, self._request.proxy, settings)
        done = 0
        for number, wheel in enumerate(plan.wheels):
            so_far = Progress(
                stage="downloading",
                done=done,
                total=plan.size,
                ready=number,
                packages=len(plan.wheels),
                name=wheel.name,
            )
            self._tell(so_far, at_once=not number)
            report = partial(self._tell_size, so_far)
            done += fetcher.fetch(wheel, self._partial / _WHEELS, report).stat().st_size

    def _tell_size(self, so_far: Progress, size: int) -> None:
        self._tell(so_far.model_copy(update={"done": so_far.done + size}), at_once=False)

    def _unpack(self, plan: Plan) -> None:
        self._tell(Progress(stage="unpacking", packages=len(plan.wheels)))
        files = [str(self._partial / _WHEELS / each.file) for each in plan.wheels]
        if (ours := find_engine_wheel()) is not None:
            files.append(str(ours))
        uv = shutil.which("uv")
        python = str(self._python)
        options = ["--no-index", "--no-deps"]
        if uv:
            command = [uv, "pip", "install", "--python", python, "--offline", *options, *files]
        else:
            command = [python, "-m", "pip", "install", "--no-input", "--quiet", *options, *files]
        run_pip(command, pip_environment(self._request), self._is_given_up, "The engine could not be unpacked")

    def _finish(self) -> Installed:
        self._tell(Progress(stage="trying"))
        python = str(self._python)
        answer = try_engine(python, self._is_given_up)
        if answer is None:
            raise Canceled("Canceled; what was downloaded is kept.")
        verdict = judge_engine(python, answer)
        if verdict.state == "unfit":
            raise InputError(
                f"The engine was installed, and does not work. {verdict.problem}",
                "What was downloaded is kept: install once more when that is mended, or discard it.",
            )
        told = compare_build(self._request, answer)
        record = {
            "kind": self._request.kind,
            "from": self._request.list_sources(self._machine),
            "torch": answer.torch,
            "build": answer.build,
            "trainwright": training.__version__,
            "made": time.time(),
            "told": told,
        }
        write_record(self._partial / _MADE / ENGINE_FILE, record)
        os.replace(self._partial / _MADE, self._folder)
        moved = str(interpreter_of(self._folder))
        # The paths in the answer are those of before: one more trial, when somebody looks, is right by itself.
        shutil.rmtree(self._partial, ignore_errors=True)
        return Installed(
            name=self._folder.name,
            python=moved,
            kind=self._request.kind,
            torch=answer.torch or "",
            build=answer.build,
            told=told,
        )

    def _tell(self, progress: Progress, at_once: bool = True) -> None:
        now = time.monotonic()
        if at_once or now - self._reported > _REPORTED_EVERY:
            self._reported = now
            write_record(self._partial / _PROGRESS, progress.model_dump())
            self._report(progress)


def compare_build(request: Request, answer: Answer) -> str:
    """What to say where another build came than was asked for; "" where it is that."""
    wanted = {"cpu": "CPU", "cuda": "CUDA", "rocm": "ROCm", "apple": "MPS"}[request.kind]
    if answer.build.startswith(wanted) or (request.kind == "apple" and answer.build == "CPU"):
        return ""
    came = f"torch {answer.torch} ({answer.build})"
    source = without_secrets(request.index) or request.wheels or "the package index"
    use = "It trains on the CPU alone." if answer.build == "CPU" else "It works, and is larger than it had to be."
    return f"{request.sort.title} was asked for, and {source} gave {came}. {use if request.kind != 'cpu' or answer.cuda or answer.hip else ''}".strip()


def make_environment(folder: Path, request: Request, is_given_up: Callable[[], bool]) -> None:
    """An empty environment with pip, in place of one that is there. Raises InputError where no Python here can make one."""
    shutil.rmtree(folder, ignore_errors=True)
    uv = shutil.which("uv")
    base = request.python or find_base()
    if base and _can_make(base):  # rather than uv, which fetches the pip that goes into it
        command = [base, "-m", "venv", str(folder)]
    elif uv:
        command = [uv, "venv", "--seed", "--python", base or UV_PYTHON, *_uv_options(request, base), str(folder)]
    elif base:
        raise InputError(
            f"{base} cannot make environments (it lacks venv or ensurepip).",
            "On Debian and Ubuntu: sudo apt install python3-venv. Or install uv, or name another Python.",
        )
    else:
        raise InputError(
            "There is no Python here that an engine can be made with.",
            "Install Python 3.11 or newer (python.org; on Debian and Ubuntu: sudo apt install python3-venv), or uv.",
        )
    run_pip(command, pip_environment(request), is_given_up, "The engine's environment could not be made")


def _uv_options(request: Request, base: str) -> list[str]:
    """Where uv may look for pip: where all the rest comes from."""
    links = (Path(request.wheels).absolute().as_uri(),) if request.wheels else ()  # a comma in a path parts it for uv
    if request.index or request.wheels:
        return PipSettings((request.index,) if request.index else (), links).list_uv_options()
    if not base:
        return []
    settings = read_pip_settings(base, without_python(os.environ))
    return replace(settings, constraints=()).list_uv_options()  # which "uv venv" does not know


def find_base() -> str:
    """The Python that environments are made with: ours, or else the newest that torch is built for; "" where there is none."""
    if not is_frozen():
        return str(getattr(sys, "_base_executable", None) or sys.executable)
    from training.engines.search import find_engines

    newest: tuple[tuple[int, ...], str] = ((), "")
    for each in find_engines():
        version = _version_of(each.python)
        if (3, 11) <= version < (3, 15) and version > newest[0]:
            newest = (version, each.python)
    return newest[1]


def _version_of(python: str) -> tuple[int, ...]:
    ask = "import sys, venv, ensurepip; print(*sys.version_info[:2])"
    told = _ask(python, ask)
    return tuple(map(int, told.split())) if told else ()


def _can_make(python: str) -> bool:
    return bool(_ask(python, "import venv, ensurepip; print(1)"))


def _ask(python: str, code: str) -> str:
    try:
        asked = subprocess.run(
            [python, "-c", code],
            env=without_python(os.environ),
            capture_output=True,
            text=True,
            timeout=60.0,
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""


@contextmanager
def _hold(place: Path) -> Iterator[None]:
    """One process at a time works on it."""
    place.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(place.with_suffix(".lock"))
    try:
        lock.acquire(timeout=0)
    except Timeout as error:
        raise InputError(f"The engine {place.stem} is just being installed.", "Wait for it, or cancel it.") from error
    try:
        yield
    finally:
        lock.release()


def _is_held(place: Path) -> bool:
    try:
        with FileLock(place.with_suffix(".lock"), timeout=0):
            return False
    except Timeout:
        return True
    except OSError:
        return False


@contextmanager
def _explain_disk(place: Path) -> Iterator[None]:
    """A full disk leaves nothing half made; one that cannot be written is named."""
    try:
        yield
    except DiskFull:
        shutil.rmtree(place, ignore_errors=True)
        raise
    except OSError as error:
        if error.errno in _FULL:
            shutil.rmtree(place, ignore_errors=True)
            raise DiskFull(f"The engine could not be installed in {place.parent}") from error
        raise InputError(
            f"{error.filename or place.parent} cannot be written ({error.strerror or error}).",
            "Nothing was installed; make it writable.",
        ) from error
