"""run.py, as far as it goes without installing three gigabytes; the whole of it runs on the build machine."""

import ast
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import run
from tests.all_checks import run_all
from training.system.installer_words import progress

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the stand-ins for Python are shell scripts")


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for `.venv`; nothing of the real one can be touched."""
    folder = tmp_path / ".venv"
    monkeypatch.setattr(run, "HERE", tmp_path)
    monkeypatch.setattr(run, "ENVIRONMENT", folder)
    monkeypatch.setattr(run, "STAMP", folder / "trainwright.json")
    monkeypatch.setattr(run, "UNFINISHED", folder / "unfinished")
    monkeypatch.setattr(run, "LOCK", tmp_path / ".venv.lock")
    monkeypatch.setattr(run, "LOG", folder / "setup.log")
    monkeypatch.setattr(run, "WHEELS", tmp_path / "wheels")
    return folder


@pytest.fixture
def installed(environment: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A checkout whose installations are only written down."""
    (environment.parent / "pyproject.toml").write_text('[project]\nname = "trainwright"\n', encoding="utf-8")
    calls: list[str] = []

    def write_down(command: list[str], environ: dict[str, str]) -> int:
        calls.append(command[-1])
        return 0

    monkeypatch.setattr(run, "follow", write_down)
    monkeypatch.setattr(run, "check_disk", lambda: None)
    monkeypatch.setattr("shutil.which", lambda name: None)
    monkeypatch.setattr(run, "make_environment", lambda: make_empty(environment))
    return calls


def make_empty(environment: Path) -> None:
    """An environment whose Python is the one that runs the tests: a real one takes seconds to make."""
    shutil.rmtree(environment, ignore_errors=True)
    python = environment / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n', encoding="utf-8")
    python.chmod(0o755)


def test_an_old_python_can_read_it_far_enough_to_be_told() -> None:
    source = Path(run.__file__).read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 8))
    assert run.too_old((3, 9, 2)).startswith("Trainwright needs Python 3.11 or newer, and this is Python 3.9.2")


def test_set_up_happens_once(installed: list[str]) -> None:
    run.set_up(testing=False)
    run.set_up(testing=False)
    assert installed == [".[studio,engine]"]


def test_tests_add_their_tools_and_the_program_is_content_with_more(installed: list[str]) -> None:
    run.set_up(testing=False)
    run.set_up(testing=True)
    run.set_up(testing=False)
    assert installed == [".[studio,engine]", ".[test]"]


def test_new_dependencies_are_installed_and_new_lint_rules_are_not_a_reason(
    installed: list[str], environment: Path
) -> None:
    pyproject = environment.parent / "pyproject.toml"
    run.set_up(testing=False)
    pyproject.write_text('[project]\nname = "trainwright"\n[tool.ruff]\nline-length = 120\n', encoding="utf-8")
    run.set_up(testing=False)
    assert installed == [".[studio,engine]"]
    pyproject.write_text('[project]\nname = "trainwright"\ndependencies = ["torch"]\n', encoding="utf-8")
    run.set_up(testing=False)
    assert installed == [".[studio,engine]", ".[studio,engine]"]


def test_a_killed_set_up_is_done_again_from_the_beginning(
    installed: list[str], environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(command: list[str], environ: dict[str, str]) -> int:
        (environment / "half").touch()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run, "follow", killed)
        with pytest.raises(KeyboardInterrupt):
            run.set_up(testing=False)
    assert (environment / "half").exists()
    run.set_up(testing=False)
    assert installed == [".[studio,engine]"]
    assert not (environment / "half").exists()


def test_two_starts_at_once_set_up_once(
    installed: list[str], environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def wait(command: list[str], environ: dict[str, str]) -> int:
        begun.set()
        assert may_end.wait(60)
        installed.append(command[-1])
        return 0

    monkeypatch.setattr(run, "follow", wait)
    told: list[str] = []

    def hear(text: str) -> None:
        told.append(text)
        if "waits" in text:
            may_end.set()

    monkeypatch.setattr(run, "say", hear)
    with ThreadPoolExecutor(2) as starts:
        first = starts.submit(run.set_up, False)
        assert begun.wait(60)
        second = starts.submit(run.set_up, False)
        first.result(60)
        second.result(60)
    assert installed == [".[studio,engine]"]
    assert told.count("Another start is setting Trainwright up; this one waits for it.") == 1


def test_a_failed_download_keeps_what_was_there(
    installed: list[str], environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run.set_up(testing=False)
    (environment / "kept").touch()

    def offline(command: list[str], environ: dict[str, str]) -> int:
        run.LOG.write_text("NewConnectionError: Failed to establish a new connection", encoding="utf-8")
        return 1

    with monkeypatch.context() as patch:
        patch.setattr(run, "follow", offline)
        with pytest.raises(run.SetUpError, match="the package index cannot be reached"):
            run.set_up(testing=True)
    run.set_up(testing=True)
    assert installed == [".[studio,engine]", ".[test]"]
    assert (environment / "kept").exists()


def test_a_moved_checkout_is_installed_again() -> None:
    here = run.fingerprint("{}", "3.11", Path("/a/b"))
    assert here == run.fingerprint("{}", "3.11", Path("/a/b"))
    assert len({here, run.fingerprint("{}", "3.11", Path("/a/c")), run.fingerprint("{}", "3.12", Path("/a/b"))}) == 3


@pytest.mark.parametrize("text", ["", "{", "[]", '{"fingerprint": 3}', json.dumps({"fingerprint": "other"})])
def test_a_stamp_that_cannot_be_read_counts_as_none(text: str, environment: Path) -> None:
    environment.mkdir()
    run.STAMP.write_text(text, encoding="utf-8")
    assert not run.stamped("wanted", testing=False)


def test_a_full_disk_is_said_before_three_gigabytes_are_fetched(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = 1_500_000_000

    monkeypatch.setattr("shutil.disk_usage", lambda path: Usage)
    with pytest.raises(run.SetUpError, match=r"1\.5 GB are free"):
        run.check_disk()
    torch = environment / "lib" / "python3.11" / "site-packages" / "torch"
    torch.mkdir(parents=True)
    (torch / "version.py").touch()
    run.check_disk()  # nothing large is to come


def test_a_python_that_cannot_make_environments_names_the_package(
    environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "can_make_environments", lambda: False)
    monkeypatch.setattr("shutil.which", lambda name: None)
    with pytest.raises(run.SetUpError, match=rf"sudo apt install python3\.{sys.version_info[1]}-venv"):
        run.make_environment()


def test_a_folder_that_cannot_be_written_is_named(
    installed: list[str], environment: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refused() -> None:
        raise PermissionError(13, "Permission denied", str(environment))

    monkeypatch.setattr(run, "make_environment", refused)
    assert run.main([]) == 1
    assert f"cannot write to {environment} (Permission denied)" in capsys.readouterr().err


def test_the_host_s_python_does_not_leak_into_ours() -> None:
    host = {"PYTHONHOME": "/usr", "PYTHONPATH": "/x", "PIP_TARGET": "/y", "PATH": "/bin", "PIP_INDEX_URL": "https://z"}
    assert run.clean(host) == {"PATH": "/bin", "PIP_INDEX_URL": "https://z"}


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        ("<pip._vendor.urllib3.connection.HTTPSConnection>: Temporary failure in name resolution", "cannot be reached"),
        ("error: dns error: failed to lookup address information", "cannot be reached"),
        ("SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED]", "date and time"),
        ("ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device", "the disk is full"),
        ("ERROR: No matching distribution found for torch>=2.7", "does not exist for Python"),
        ("no word for it\nlast words", "last words"),
    ],
)
def test_a_failed_installer_becomes_advice(output: str, expected: str) -> None:
    assert expected in run.advice(output)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Collecting torch>=2.7", ("looking for torch>=2.7", False)),
        ("  Downloading torch-2.15.0-cp311-cp311-manylinux.whl (906.4 MB)", ("downloading torch (906.4 MB)", True)),
        ("  Downloading https://host/x/tomlkit-0.15-py3-none-any.whl (39 kB)", ("downloading tomlkit (39 kB)", False)),
        ("Downloading torch (506.1MiB)", ("downloading torch (506.1 MiB)", True)),
        ("Installing collected packages: a, b", ("unpacking", True)),
        ("Requirement already satisfied: numpy", None),
        ("", None),
    ],
)
def test_progress_is_read_from_what_the_installer_says(line: str, expected: tuple[str, bool] | None) -> None:
    assert progress(line) == expected


@pytest.mark.parametrize(
    ("broken", "code"), [((), 0), (("mypy",), 3), (("ruff", "pytest"), 3), (("pytest",), 3), (("importlinter",), 3)]
)
def test_every_check_runs_and_one_failure_fails_the_whole(
    broken: Iterable[str], code: int, environment: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    python = environment / "bin" / "python"
    python.parent.mkdir(parents=True)
    tests = " ".join(f"*{name}*) exit 3;;" for name in broken)
    python.write_text(f'#!/bin/sh\necho "called $*"\ncase "$*" in {tests} esac\nexit 0\n')
    python.chmod(0o755)
    assert run_all(["-k", "some thing"], str(python)) == code
    out, err = capfd.readouterr()
    calls = out.splitlines()
    assert [call.split()[2] for call in calls if "-m" in call] == ["studio.preflight", "ruff", "ruff", "pytest"]
    assert calls[-1] == "called -m pytest -n 3 --dist worksteal -k some thing"
    assert "--- types\ncalled -m mypy\n" in err
    assert ("FAILED" in err) is bool(code)
    assert ("types" in err.partition("FAILED")[2]) is ("mypy" in broken)


def test_servers_are_installed_where_their_tests_are_asked_for(
    environment: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    python = environment / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\necho "called $*"\n')
    python.chmod(0o755)
    assert run_all(["--run-servers"], str(python)) == 0
    calls = capfd.readouterr().out.splitlines()
    assert calls[1] == "called -m tests.servers.debian"
    assert calls[-1] == "called -m pytest -n 3 --dist worksteal --run-servers"


def test_the_program_is_started_where_the_person_stands(tmp_path: Path, environment: Path) -> None:
    """A folder called `studio` or `training` there is not taken for ours, and relative paths keep their meaning."""
    python = environment / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\npwd\necho "$@"\nexit 7\n')
    python.chmod(0o755)
    stand = tmp_path / "stand"
    stand.mkdir()
    code = f"import run, pathlib; run.ENVIRONMENT = pathlib.Path({str(environment)!r}); run.start(['a b.toml'])"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        cwd=stand,
        env={**os.environ, "PYTHONPATH": str(Path(run.__file__).parent)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 7
    assert answer.stdout.splitlines() == [str(stand), "-P -m studio a b.toml"]
