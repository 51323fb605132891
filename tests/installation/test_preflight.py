"""What is missing is named by its package, once, in a line to paste; nothing is asked of Qt."""

import ctypes
import io
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from studio import preflight

DEBIAN_12 = {"ID": "debian", "VERSION_ID": "12"}
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the libraries of Linux")


def without(*missing: str) -> Callable[[str], object]:
    """A loader that finds everything but these."""

    def load(soname: str) -> object:
        if soname in missing:
            raise OSError(f"{soname}: cannot open shared object file")
        return object()

    return load


def refuse(soname: str) -> object:
    raise OSError(soname)


def test_nothing_missing_is_no_problem() -> None:
    assert preflight.library_problem("xcb", load=without()) is None


def test_each_missing_library_is_named_by_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preflight, "os_release", lambda: DEBIAN_12)
    problem = preflight.library_problem("xcb", load=without("libxcb-shape.so.0", "libxcb-icccm.so.4"))
    assert problem is not None
    assert problem.endswith("sudo apt install libxcb-icccm4 libxcb-shape0")


def test_tests_need_less_than_a_window() -> None:
    asked: dict[preflight.Platform, set[str]] = {"offscreen": set(), "xcb": set(), "wayland": set()}
    for platform, sonames in asked.items():
        preflight.missing_libraries(platform, sonames.add)
    assert asked["offscreen"] < asked["xcb"]
    assert asked["offscreen"] < asked["wayland"]
    assert "libxcb-cursor.so.0" in asked["xcb"] - asked["wayland"]
    assert "libwayland-cursor.so.0" in asked["wayland"] - asked["xcb"]


@pytest.mark.parametrize(
    ("release", "expected"),
    [
        (DEBIAN_12, ["libegl1", "libglib2.0-0"]),
        ({"ID": "debian", "VERSION_ID": "13"}, ["libegl1", "libglib2.0-0t64"]),
        ({"ID": "debian"}, ["libegl1", "libglib2.0-0t64"]),  # testing has no number
        ({"ID": "ubuntu", "UBUNTU_CODENAME": "jammy", "ID_LIKE": "debian"}, ["libegl1", "libglib2.0-0"]),
        ({"ID": "linuxmint", "UBUNTU_CODENAME": "noble", "ID_LIKE": "ubuntu debian"}, ["libegl1", "libglib2.0-0t64"]),
        ({"ID": "rocky", "ID_LIKE": "rhel centos fedora"}, ["glib2", "libglvnd-egl"]),
        ({"ID": "manjaro", "ID_LIKE": "arch"}, ["glib2", "libglvnd"]),
        ({"ID": "void"}, ["libEGL.so.1", "libglib-2.0.so.0", "libgthread-2.0.so.0"]),
        ({}, ["libEGL.so.1", "libglib-2.0.so.0", "libgthread-2.0.so.0"]),
    ],
)
def test_package_names_follow_the_distribution(release: dict[str, str], expected: list[str]) -> None:
    gone = without("libglib-2.0.so.0", "libgthread-2.0.so.0", "libEGL.so.1")
    assert preflight.packages(preflight.missing_libraries("offscreen", gone), release) == expected


@pytest.fixture
def apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A root on Debian 12 whose apt-get only writes down what it is told."""
    log = tmp_path / "apt.log"
    program = tmp_path / "bin" / "apt-get"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\necho "$@" >> "{log}"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(preflight, "os_release", lambda: DEBIAN_12)
    return log


def test_root_on_debian_gets_them_installed(apt: Path) -> None:
    def load(soname: str) -> object:
        if soname == "libxcb-cursor.so.0" and not apt.exists():
            raise OSError(soname)
        return object()

    assert preflight.library_problem("xcb", install=True, load=load) is None
    assert apt.read_text().splitlines() == ["update", "install -y --no-install-recommends libxcb-cursor0"]


class Typing(io.StringIO):
    """A terminal at which somebody has typed."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(("answer", "installs"), [("n\n", False), ("\n", True), ("Y\n", True), ("", False)])
def test_root_at_a_terminal_is_asked_first(
    apt: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], answer: str, installs: bool
) -> None:
    monkeypatch.setattr("sys.stdin", Typing(answer))
    problem = preflight.library_problem("xcb", install=True, load=without("libxcb-cursor.so.0"))
    assert "apt-get install -y --no-install-recommends libxcb-cursor0" in capsys.readouterr().err
    assert apt.exists() is installs
    assert problem is not None  # the library is still missing here, whatever apt was told
    assert "sudo apt install libxcb-cursor0" in problem


def test_anyone_else_is_only_told(apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    problem = preflight.library_problem("xcb", install=True, load=without("libxcb-cursor.so.0"))
    assert problem is not None
    assert "sudo apt install libxcb-cursor0" in problem
    assert not apt.exists()


def test_what_apt_says_when_it_fails_is_passed_on(apt: Path) -> None:
    program = apt.parent / "bin" / "apt-get"
    program.write_text("#!/bin/sh\necho 'E: Could not resolve host' >&2\nexit 100\n")
    problem = preflight.library_problem("xcb", install=True, load=without("libxcb-cursor.so.0"))
    assert problem is not None
    assert "sudo apt install libxcb-cursor0" in problem
    assert "E: Could not resolve host" in problem


def test_no_display_is_told_from_the_environment() -> None:
    reason = preflight.no_display_reason({})
    assert reason is not None
    assert "neither DISPLAY nor WAYLAND_DISPLAY" in reason


def test_a_display_that_answers_is_one() -> None:
    assert preflight.no_display_reason({"DISPLAY": ":0"}, x_server_answers=lambda name: name == ":0") is None


def test_a_platform_that_needs_no_display_is_asked_for_none() -> None:
    assert preflight.no_display_reason({"QT_QPA_PLATFORM": "offscreen"}) is None
    assert preflight.no_display_reason({"QT_QPA_PLATFORM": "vnc:size=800x600"}) is None
    assert preflight.no_display_reason({"QT_QPA_PLATFORM": "xcb"}) is not None


def test_a_dead_display_is_found_without_qt() -> None:
    try:
        ctypes.CDLL("libxcb.so.1")
    except OSError:
        pytest.skip("libxcb is not installed")
    reason = preflight.no_display_reason({"DISPLAY": ":987"})
    assert reason is not None
    assert "nothing answers at DISPLAY=:987" in reason


def test_a_wayland_name_without_a_compositor_is_no_display(tmp_path: Path) -> None:
    reason = preflight.no_display_reason({"WAYLAND_DISPLAY": "wayland-0", "XDG_RUNTIME_DIR": str(tmp_path)})
    assert reason is not None
    assert "WAYLAND_DISPLAY=wayland-0" in reason


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"DISPLAY": ":0"}, "xcb"),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0"}, "xcb"),
        ({"DISPLAY": ":0", "WAYLAND_DISPLAY": "wayland-0", "XDG_SESSION_TYPE": "wayland"}, "wayland"),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "wayland"),
        ({"DISPLAY": ":0", "QT_QPA_PLATFORM": "offscreen"}, "offscreen"),
        ({"DISPLAY": ":0", "QT_QPA_PLATFORM": "wayland;xcb"}, "wayland"),
    ],
)
def test_the_platform_is_the_one_qt_will_choose(environ: dict[str, str], expected: str) -> None:
    assert preflight.choose_platform(environ) == expected


def test_windows_is_asked_for_the_runtime_torch_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    assert preflight.library_problem("xcb", load=without()) is None
    problem = preflight.library_problem("xcb", load=refuse)
    assert problem is not None
    assert "Visual C++ runtime" in problem
    assert preflight.WINDOWS_RUNTIME_PAGE in problem


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a message box that nobody closes before `closed` is there is given."""
    zenity, shown = tmp_path / "zenity", tmp_path / "shown"
    zenity.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > "{shown}.part"\n/bin/mv "{shown}.part" "{shown}"\n'
        f'while [ ! -e "{tmp_path}/closed" ]; do /bin/sleep 0.05; done\n'
    )
    zenity.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    return shown


def test_a_start_from_the_menu_shows_the_text_in_a_box_and_waits_for_nobody(
    box: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", None)
    preflight.tell("libxcb-cursor0 <missing> & $more")
    while not box.exists():
        time.sleep(0.01)
    assert "--text=libxcb-cursor0 <missing> & $more" in box.read_text().splitlines()
    (box.parent / "closed").touch()


def test_a_start_whose_words_somebody_reads_shows_no_box(box: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(Path(preflight.__file__).parents[1])}
    command = [sys.executable, "-m", "studio", str(box.parent / "gone" / "folder")]
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=60
    )
    assert done.returncode == 2
    assert "there is no such file" in done.stderr
    assert not box.exists()
    (box.parent / "closed").touch()


def test_the_report_says_yes_and_no(capsys: pytest.CaptureFixture[str]) -> None:
    offscreen = {"QT_QPA_PLATFORM": "offscreen"}
    assert preflight.report(offscreen, load=without()) == 0
    assert "can open here" in capsys.readouterr().out
    assert preflight.report(offscreen, load=without("libEGL.so.1")) == 1
    assert "can open here" not in capsys.readouterr().out
