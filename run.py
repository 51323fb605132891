#!/usr/bin/env python3
"""Set up Trainwright beside this file and start it, or run all its tests. Needs Python 3.11 or newer, nothing else.

    python3 run.py [arguments]           set up what is missing, then start the program with these arguments
    python3 run.py test [arguments]      set up what is missing, then lint, types, contracts and pytest with these
    python3 run.py test --run-slow       the same with the slow tests, and with those of servers that are here
    python3 run.py test --run-servers    the same with those that talk to a server, which Debian's packages bring
    python3 run.py wheels                fetch all that these commands install into the folder `wheels` beside this file

On Windows: py run.py. The set-up lies in .venv beside this file; delete that folder to start over. Where there is a folder `wheels`,
everything is installed from it and nothing is fetched: copied to a computer like this one, it does without a network there.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ENVIRONMENT = HERE / ".venv"
STAMP = ENVIRONMENT / "trainwright.json"
UNFINISHED = ENVIRONMENT / "unfinished"
LOCK = HERE / ".venv.lock"
LOG = ENVIRONMENT / "setup.log"
WHEELS = HERE / "wheels"
OLDEST_PYTHON = (3, 11)
GIGABYTE = 10**9
UV_SOURCES = ("UV_INDEX", "UV_DEFAULT_INDEX", "UV_EXTRA_INDEX", "UV_FIND_LINKS", "UV_NO_INDEX", "UV_CONFIG_FILE")
# Of the host's Python, and fatal or misleading for another one; pip's would install somewhere else.
LEAKING = (
    "PYTHONHOME", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONEXECUTABLE", "__PYVENV_LAUNCHER__",
    "VIRTUAL_ENV", "CONDA_PREFIX", "PIP_TARGET", "PIP_PREFIX", "PIP_USER", "PIP_REQUIRE_VIRTUALENV",
)  # fmt: skip


class SetUpError(Exception):
    """The set-up cannot go on; the text says why and what to do."""


def main(argv: list[str]) -> int:
    """Returns the exit code; on Linux and macOS the program replaces this process and leaves its own."""
    if sys.version_info < OLDEST_PYTHON:
        say(too_old(sys.version_info[:3]))
        return 1
    if argv[:1] in (["-h"], ["--help"]):
        print(__doc__)
        return 0
    testing = argv[:1] == ["test"]
    failed = "The wheels are not fetched" if argv == ["wheels"] else "Trainwright is not set up"
    try:
        if argv == ["wheels"]:
            fetch_wheels()
            return 0
        set_up(testing)
    except SetUpError as error:
        say(f"\n{failed}: {error}")
        return 1
    except OSError as error:
        say(f"\n{failed}: cannot write to {error.filename or HERE} ({error.strerror}).")
        return 1
    except KeyboardInterrupt:
        say("\nThe set-up was interrupted; the next start does it again.")
        return 130
    return run_tests(argv[1:]) if testing else start(argv)


def too_old(version: tuple[int, ...]) -> str:
    """What to say to a Python that is too old to go on."""
    has, needs = ".".join(map(str, version)), ".".join(map(str, OLDEST_PYTHON))
    return f"Trainwright needs Python {needs} or newer, and this is Python {has}: get one from https://www.python.org"


# ----------------------------------------------------------------------------------------------------- set-up


def set_up(testing: bool) -> None:
    """Make `.venv` and install the project into it (editable: the checkout is what runs), unless that is done."""
    if is_set_up(testing):
        return
    from training.system.turns import take_turn

    with take_turn(LOCK, lambda: say("Another start is setting Trainwright up; this one waits for it.")):
        if not is_set_up(testing):
            set_up_now(testing)


def is_set_up(testing: bool) -> bool:
    """Whether all is there for the program, or for its tests."""
    version = None if UNFINISHED.exists() else python_version()
    return version is not None and stamped(fingerprint(list_project(), version, HERE), testing)


def set_up_now(testing: bool) -> None:
    """What `set_up` does in its turn."""
    began = time.monotonic()
    check_disk()
    if UNFINISHED.exists() or python_version() is None:
        make_environment()
    UNFINISHED.touch()
    try:
        install(testing)
    except SetUpError:
        UNFINISHED.unlink()  # an installer that failed by itself left nothing half-written, a killed one may have
        raise
    spell_path()
    version = python_version()
    if version is None:
        raise SetUpError(f"{environment_python()} does not start; delete {ENVIRONMENT} and try again.")
    stamp = {"fingerprint": fingerprint(list_project(), version, HERE), "test": testing}
    STAMP.write_text(json.dumps(stamp), encoding="utf-8")
    UNFINISHED.unlink()
    say(f"Set up in {time.monotonic() - began:.0f} seconds.")


def spell_path() -> None:
    """Have every Python find a checkout in a folder with letters of any script: before 3.13 it reads the line that names the folder in the
    system's encoding, on Windows another one than the UTF-8 of that line."""
    site = "Lib/site-packages" if os.name == "nt" else "lib/python3*/site-packages"
    for file in ENVIRONMENT.glob(f"{site}/_editable*.pth") if sys.version_info < (3, 13) else ():
        lines = file.read_text(encoding="utf-8").splitlines()
        spelled = [each if each.isascii() else f"import sys; sys.path.append({each!a})" for each in lines]
        file.write_text("\n".join(spelled), encoding="ascii")


def read_pyproject() -> dict[str, Any]:
    """pyproject.toml's tables."""
    import tomllib  # new in 3.11, and an older Python has to come far enough to be told so

    return tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))


def list_project() -> str:
    """What an installation depends on: how to lint and test may change without a new one."""
    return json.dumps(read_pyproject()["project"], sort_keys=True)


def fingerprint(project: str, python: str, place: Path) -> str:
    """Changes when the environment has to be installed anew: other dependencies, other Python, moved checkout."""
    return hashlib.sha256("\0".join([project, python, str(place)]).encode()).hexdigest()


def stamped(wanted: str, testing: bool) -> bool:
    """Whether the environment holds what is wanted; one with the test tools serves for both."""
    try:
        stamp = json.loads(STAMP.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(stamp, dict) and stamp.get("fingerprint") == wanted and (stamp.get("test") is True or not testing)


def environment_python() -> Path:
    """The environment's own interpreter."""
    return ENVIRONMENT / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def python_version() -> str | None:
    """The version of the environment's Python; None when there is none or none that starts."""
    ask = "import sys; print(sys.implementation.cache_tag, sys.version.split()[0])"
    try:
        answer = subprocess.run(
            [str(environment_python()), "-c", ask], env=clean(os.environ), capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    return answer.stdout.strip() if answer.returncode == 0 else None


def clean(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment variables for a child with another Python than ours."""
    return {name: value for name, value in environ.items() if name not in LEAKING}


def check_disk() -> None:
    """Raises SetUpError when torch is still to come and would not fit. On Linux it brings the CUDA libraries along."""
    if any(ENVIRONMENT.glob("**/site-packages/torch/version.py")):
        return
    needed = (8 if sys.platform == "linux" else 2) * GIGABYTE
    free = shutil.disk_usage(HERE).free
    if free < needed:
        raise SetUpError(
            f"PyTorch and Qt need about {needed // GIGABYTE} GB in {HERE}, and {free / GIGABYTE:.1f} GB are free. "
            "Make room, or move this folder to a larger disk."
        )


def make_environment() -> None:
    """An empty environment in place of a missing, broken or half-made one."""
    say(f"Making a Python environment in {ENVIRONMENT}")
    if ENVIRONMENT.exists():
        shutil.rmtree(ENVIRONMENT)
    ENVIRONMENT.mkdir()
    UNFINISHED.touch()
    uv = shutil.which("uv")
    if can_make_environments() or (uv is None and install_venv_as_root()):
        command = [sys.executable, "-m", "venv", str(ENVIRONMENT)]
    elif uv:  # without pip, which may have to be fetched
        command = [uv, "venv", "--allow-existing", "--python", sys.executable, str(ENVIRONMENT)]
    else:
        raise SetUpError(
            "this Python cannot make environments. On Debian and Ubuntu, paste this line into a terminal and "
            f"start again: sudo apt install {venv_package()}"
        )
    made = subprocess.run(command, env=clean(os.environ), capture_output=True, text=True, check=False)
    if made.returncode != 0:
        raise SetUpError(f"the Python environment could not be made:\n{(made.stderr or made.stdout).strip()}")


def can_make_environments() -> bool:
    """Debian's Python comes without ensurepip until python3-venv is installed."""
    return works(sys.executable, "-c", "import venv, ensurepip")


def works(python: str, *words: str) -> bool:
    """Whether that Python can carry it out. A fresh process each time: what was just installed counts."""
    return subprocess.run([python, *words], env=clean(os.environ), capture_output=True, check=False).returncode == 0


def venv_package() -> str:
    """Debian's name of the package that lets this Python make environments."""
    return f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"


def install_venv_as_root() -> bool:
    """Install python3-venv as root with apt, where the person at the terminal agrees."""
    from studio.preflight import install_as_root

    try:
        return install_as_root([venv_package()], "What makes Python environments") and can_make_environments()
    except subprocess.CalledProcessError:
        return False


def install(testing: bool) -> None:
    """Install the project and what it needs, with uv when it is there (faster), else or after it failed with pip."""
    what = ["-e", ".[test]" if testing else ".[studio,engine]"]  # the tests' tools bring both along
    say(f"Installing Trainwright, PyTorch and Qt ({f'from {WHEELS}' if WHEELS.is_dir() else size_to_fetch()})")
    if install_with_uv(["pip", *what]):
        return
    if has_pip():
        if sources := list_sources():  # an old pip, as Debian's, can take minutes to find out what fits together
            run_pip("install", [*sources, "--upgrade", "pip"])
        if run_pip("install", [*sources, *what]) == 0:
            return
    raise SetUpError(advice(LOG.read_text(encoding="utf-8", errors="replace")))


def fetch_wheels() -> None:
    """Put all that is ever installed into the folder of wheels, which appears whole or stays as it was."""
    check_disk()
    if python_version() is None:
        make_environment()
    say(f"Fetching what Trainwright and its tests need ({size_to_fetch()})")
    part = WHEELS.with_name(f"{WHEELS.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    if not (has_pip() or install_with_uv(["pip"])) or run_pip("wheel", ["-w", str(part), *list_requirements()]):
        raise SetUpError(advice(LOG.read_text(encoding="utf-8", errors="replace")))
    shutil.rmtree(WHEELS, ignore_errors=True)
    part.rename(WHEELS)
    version = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
    say(
        f"All is in {WHEELS}, for {version} on a system like this one. Beside another run.py it does without a network."
    )


def list_requirements() -> list[str]:
    """What the installation of everything asks for, from the build tool on."""
    tables = read_pyproject()
    project, building = tables["project"], tables["build-system"]["requires"]
    extras = [each for part in ("studio", "engine", "test") for each in project["optional-dependencies"][part]]
    extras = [each for each in extras if not each.startswith(f"{project['name']}[")]
    return ["pip", "editables~=0.3", *building, *project["dependencies"], *extras]


def size_to_fetch() -> str:
    """How much comes over the network when nothing is in the installer's cache."""
    return "about 3 GB to download the first time" if sys.platform == "linux" else "a few hundred MB the first time"


def install_with_uv(what: list[str]) -> bool:
    """True when it is done; False where there is no uv, or it failed."""
    uv = shutil.which("uv")
    if uv is None:
        return False
    options, environ = list_sources(), clean(os.environ)
    if not options and not any(name.startswith(UV_SOURCES) for name in os.environ):
        from training.system.pip_settings import read_pip_settings

        settings = read_pip_settings(str(environment_python()), environ)
        options = settings.list_uv_options()
        if settings.certificates:
            environ.setdefault("SSL_CERT_FILE", settings.certificates)
    return follow([uv, "pip", "install", "--python", str(environment_python()), *options, *what], environ) == 0


def has_pip() -> bool:
    """Whether the environment has pip, after bringing it in where this Python carries one."""
    python = str(environment_python())
    return works(python, "-c", "import pip") or works(python, "-m", "ensurepip")


def run_pip(verb: str, what: list[str]) -> int:
    """The exit code of the environment's pip."""
    # By variables, which reach the pip that fetches the build tool, too.
    environ = {**clean(os.environ), "PIP_RETRIES": "3", "PIP_PROGRESS_BAR": "off"}
    options = ["--disable-pip-version-check", "--no-input"]
    return follow([str(environment_python()), "-m", "pip", verb, *options, *what], environ)


def list_sources() -> list[str]:
    """The options of pip and of uv by which everything comes from the folder of wheels, if there is one. A comma in a path parts it for uv."""
    return ["--no-index", "--find-links", WHEELS.as_uri()] if WHEELS.is_dir() else []


def follow(command: list[str], environ: dict[str, str]) -> int:
    """Run an installer in the checkout, its words in the log. On a terminal one line says what it is busy with, and for how long;
    elsewhere there is a line for each thing that takes long."""
    from training.system.installer_words import progress

    live, began, busy, ended = sys.stderr.isatty(), time.monotonic(), ["starting"], threading.Event()

    def tick() -> None:
        while not ended.wait(1):
            print(f"\r\033[K  {busy[0]} ({time.monotonic() - began:.0f} s)"[:100], end="", file=sys.stderr, flush=True)

    if live:
        threading.Thread(target=tick, daemon=True).start()
    with LOG.open("w", encoding="utf-8", errors="replace") as log, subprocess.Popen(
        command, cwd=HERE, env=environ, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, encoding="utf-8", errors="replace",
    ) as process:  # fmt: skip
        try:
            for line in process.stdout or ():
                log.write(line)
                if found := progress(line):
                    busy[0], large = found
                    if large and not live:
                        say(f"  {busy[0]}")
        except BaseException:
            process.terminate()
            raise
        finally:
            ended.set()
    if live:
        print("\r\033[K", end="", file=sys.stderr, flush=True)
    return process.returncode


def advice(output: str) -> str:
    """The sentence for what an installer said before it failed."""
    from training.system.installer_words import ask_for_more, find_cause, last_words

    cause = find_cause(output)
    if cause and cause.kind == "missing" and not WHEELS.is_dir():
        cause = find_cause(ask_for_more(cause.name, str(environment_python()), clean(os.environ))) or cause
    if cause is None:
        return f"the installer failed (all that it said is in {LOG}):\n{last_words(output)}"
    on_this = f"for Python {sys.version.split()[0]} on this system"
    offline = f"Without a network: run `python3 run.py wheels` on a computer like this one that has one, and copy the folder `wheels` to {HERE}."
    remedies = {
        "disk": f"Make room for about 8 GB at {HERE} and in the folder for temporary files, and start again.",
        "network": "The first set-up needs the internet: check the connection (behind a proxy, set HTTPS_PROXY to http://HOST:PORT; with "
        f"an index of your own, PIP_INDEX_URL) and start again. {offline}",
        "proxy": f"Check its address in HTTPS_PROXY, and start again. {offline}",
        "refused": f"Start again later, or name another index by PIP_INDEX_URL. {offline}",
    }
    if cause.kind != "missing":
        return f"{cause.sentence}. {cause.remedy or remedies[cause.kind]}"
    if WHEELS.is_dir():
        return f"{cause.name} is not among the wheels in {WHEELS}, or not {on_this}. `python3 run.py wheels` fetches them all, on a computer like this one."
    return f"{cause.name} does not exist {on_this}. PyTorch is made for Python 3.11 to 3.14 on 64-bit Linux, Windows and macOS (Apple's chips)."


def say(text: str) -> None:
    """On stderr: stdout belongs to the program that is started."""
    print(text, file=sys.stderr, flush=True)


# --------------------------------------------------------------------------------------------------- starting


def start(arguments: list[str]) -> int:
    """Hand over to the program. The folder stays the person's own, so that their relative paths mean what they say."""
    # -P: a folder `studio` or `training` where the person stands must not be taken for ours.
    return hand_over(["-P", "-m", "studio", *arguments])


def run_tests(arguments: list[str]) -> int:
    """Hand over to lint, types, contracts and pytest."""
    os.chdir(HERE)
    return hand_over(["-m", "tests.all_checks", *arguments])


def hand_over(arguments: list[str]) -> int:
    """Become the environment's Python, where a process can become another one; else wait for it and return its exit code."""
    command = [str(environment_python()), *arguments]
    if os.name != "nt":
        sys.stdout.flush()
        os.execve(command[0], command, clean(os.environ))
    child = subprocess.Popen(command, env=clean(os.environ))
    while True:
        try:
            return child.wait()
        except KeyboardInterrupt:
            continue  # the program got it too, and ends in its own way


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
