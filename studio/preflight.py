"""Find out whether a window can open here, before Qt is asked and aborts the process.

Qt's xcb plugin ends the process when a system library is missing, and names libxcb-cursor0 even when another one is
the culprit. So each library is loaded here first, and what is missing is named by the package that holds it.
Standard library only; `python -m studio.preflight` is what `run.py` calls. What only a machine with a fault needs is
imported there: the window of every other one waits for this module.
"""

import argparse
import ctypes
import os
import stat
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TextIO

Platform = Literal["offscreen", "xcb", "wayland"]
Family = Literal["debian", "fedora", "arch"]
Loader = Callable[[str], object]

INSTALL_COMMANDS: dict[Family, str] = {
    "debian": "sudo apt install",
    "fedora": "sudo dnf install",
    "arch": "sudo pacman -S",
}


class Library(NamedTuple):
    """A shared library Qt loads, and the package that holds it. `platform` is the least that needs it."""

    soname: str
    debian: str
    fedora: str
    arch: str
    platform: Platform = "offscreen"


LIBRARIES = (
    Library("libglib-2.0.so.0", "libglib2.0-0", "glib2", "glib2"),
    Library("libgthread-2.0.so.0", "libglib2.0-0", "glib2", "glib2"),
    Library("libGL.so.1", "libgl1", "libglvnd-glx", "libglvnd"),
    Library("libEGL.so.1", "libegl1", "libglvnd-egl", "libglvnd"),
    Library("libX11.so.6", "libx11-6", "libX11", "libx11"),
    Library("libxkbcommon.so.0", "libxkbcommon0", "libxkbcommon", "libxkbcommon"),
    Library("libdbus-1.so.3", "libdbus-1-3", "dbus-libs", "dbus"),
    Library("libfontconfig.so.1", "libfontconfig1", "fontconfig", "fontconfig"),
    Library("libfreetype.so.6", "libfreetype6", "freetype", "freetype2"),
    Library("libxcb.so.1", "libxcb1", "libxcb", "libxcb", "xcb"),
    Library("libX11-xcb.so.1", "libx11-xcb1", "libX11-xcb", "libx11", "xcb"),
    Library("libxkbcommon-x11.so.0", "libxkbcommon-x11-0", "libxkbcommon-x11", "libxkbcommon-x11", "xcb"),
    Library("libxcb-cursor.so.0", "libxcb-cursor0", "xcb-util-cursor", "xcb-util-cursor", "xcb"),
    Library("libxcb-icccm.so.4", "libxcb-icccm4", "xcb-util-wm", "xcb-util-wm", "xcb"),
    Library("libxcb-util.so.1", "libxcb-util1", "xcb-util", "xcb-util", "xcb"),
    Library("libxcb-image.so.0", "libxcb-image0", "xcb-util-image", "xcb-util-image", "xcb"),
    Library("libxcb-keysyms.so.1", "libxcb-keysyms1", "xcb-util-keysyms", "xcb-util-keysyms", "xcb"),
    Library("libxcb-render-util.so.0", "libxcb-render-util0", "xcb-util-renderutil", "xcb-util-renderutil", "xcb"),
    Library("libxcb-randr.so.0", "libxcb-randr0", "libxcb", "libxcb", "xcb"),
    Library("libxcb-render.so.0", "libxcb-render0", "libxcb", "libxcb", "xcb"),
    Library("libxcb-shape.so.0", "libxcb-shape0", "libxcb", "libxcb", "xcb"),
    Library("libxcb-shm.so.0", "libxcb-shm0", "libxcb", "libxcb", "xcb"),
    Library("libxcb-sync.so.1", "libxcb-sync1", "libxcb", "libxcb", "xcb"),
    Library("libxcb-xfixes.so.0", "libxcb-xfixes0", "libxcb", "libxcb", "xcb"),
    Library("libxcb-xkb.so.1", "libxcb-xkb1", "libxcb", "libxcb", "xcb"),
    Library("libwayland-client.so.0", "libwayland-client0", "libwayland-client", "wayland", "wayland"),
    Library("libwayland-cursor.so.0", "libwayland-cursor0", "libwayland-cursor", "wayland", "wayland"),
)

# Python brings vcruntime140.dll along; torch also wants this one, and fails with WinError 126 or 1114 without it.
WINDOWS_RUNTIME = "msvcp140.dll"
WINDOWS_RUNTIME_PAGE = "https://aka.ms/vs/17/release/vc_redist.x64.exe"


# --------------------------------------------------------------------------------------------------- display


def no_display_reason(environ: Mapping[str, str], x_server_answers: Callable[[str], bool] | None = None) -> str | None:
    """One sentence when no window can be shown here, None when one can (as far as can be told without Qt)."""
    if sys.platform != "linux" or (environ.get("QT_QPA_PLATFORM") and choose_platform(environ) == "offscreen"):
        return None
    display, wayland = environ.get("DISPLAY"), environ.get("WAYLAND_DISPLAY")
    if not display and not wayland:
        return "There is no display here (neither DISPLAY nor WAYLAND_DISPLAY is set)."
    if wayland and _wayland_answers(wayland, environ.get("XDG_RUNTIME_DIR", "")):
        return None
    if display and (x_server_answers or _x_server_answers)(display):
        return None
    tried = {"DISPLAY": display, "WAYLAND_DISPLAY": wayland}
    named = " and ".join(f"{name}={value}" for name, value in tried.items() if value)
    return f"There is no display here: nothing answers at {named}."


def choose_platform(environ: Mapping[str, str]) -> Platform:
    """Which Qt platform plugin will be used; `offscreen` stands for every one that needs neither X nor Wayland."""
    asked = environ.get("QT_QPA_PLATFORM", "").split(";")[0].split(":")[0]
    if asked:
        return "wayland" if asked.startswith("wayland") else "xcb" if asked == "xcb" else "offscreen"
    if environ.get("WAYLAND_DISPLAY") and (environ.get("XDG_SESSION_TYPE") == "wayland" or not environ.get("DISPLAY")):
        return "wayland"
    return "xcb"


_X_ATTEMPTS = 3  # an X server that resets, since its last client has left, answers again in a moment
_X_PAUSE_SECONDS = 0.4


def _wayland_answers(name: str, runtime_dir: str) -> bool:
    import socket

    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(Path(runtime_dir) / name))
        except OSError:
            return False
    return True


def _x_server_answers(display: str) -> bool:
    try:
        xcb = ctypes.CDLL("libxcb.so.1")
    except OSError:
        return True  # cannot be asked yet: the missing library is reported by name, and the question put again
    xcb.xcb_connect.restype = ctypes.c_void_p
    for attempt in range(_X_ATTEMPTS):
        if attempt:
            time.sleep(_X_PAUSE_SECONDS)
        connection = ctypes.c_void_p(xcb.xcb_connect(display.encode(), None))
        if not xcb.xcb_connection_has_error(connection):
            # Left open as long as this process lives: a bare X server (Xvfb) resets when its last client leaves, and
            # would turn away Qt, which comes next.
            return True
        xcb.xcb_disconnect(connection)
    return False


# ------------------------------------------------------------------------------------------------- libraries


def missing_libraries(wanted: Platform, load: Loader = ctypes.CDLL) -> list[Library]:
    """The libraries that Qt needs for this platform and that cannot be loaded. Empty on Windows and macOS."""
    if sys.platform != "linux":
        return []
    missing = []
    for library in LIBRARIES:
        if library.platform in ("offscreen", wanted):
            try:
                load(library.soname)
            except OSError:
                missing.append(library)
    return missing


def family(release: Mapping[str, str]) -> Family | None:
    """Whose package names to use, from the fields of /etc/os-release."""
    names = {release.get("ID", ""), *release.get("ID_LIKE", "").split()}
    if names & {"debian", "ubuntu"}:
        return "debian"
    if names & {"fedora", "rhel", "centos"}:
        return "fedora"
    return "arch" if "arch" in names else None


def packages(missing: list[Library], release: Mapping[str, str]) -> list[str]:
    """Package names on this system, sorted, each once; the sonames where the system is not one of the known ones."""
    system = family(release)
    names = {getattr(library, system) if system else library.soname for library in missing}
    if "libglib2.0-0" in names and _has_64_bit_time(release):
        names = names - {"libglib2.0-0"} | {"libglib2.0-0t64"}
    return sorted(names)


def _has_64_bit_time(release: Mapping[str, str]) -> bool:
    """Whether this release renamed libraries to *t64: Debian from 13 (or testing), Ubuntu and its kin from 24.04."""
    if "ubuntu" in (release.get("ID", ""), *release.get("ID_LIKE", "").split()):
        return release.get("UBUNTU_CODENAME", "") not in ("bionic", "focal", "jammy", "kinetic", "lunar", "mantic")
    major = release.get("VERSION_ID", "").split(".")[0]
    return not major.isdigit() or int(major) >= 13


def how_to_install(missing: list[Library], release: Mapping[str, str]) -> str:
    """One sentence with a line to paste."""
    names = " ".join(packages(missing, release))
    start = "Trainwright's window needs system libraries that are missing here"
    system = family(release)
    if system is None:
        return f"{start}: install the packages that hold {names}, then start again."
    return f"{start}; paste this line into a terminal, then start again: {INSTALL_COMMANDS[system]} {names}"


def install_as_root(packages: Sequence[str], for_what: str) -> bool:
    """Install Debian's ``packages`` as root, with apt. True when it was done; False for anybody else, elsewhere, and for a person
    who is asked on a terminal and would rather not.

    Raises subprocess.CalledProcessError, its stderr holding apt's own words, when apt fails.
    """
    import shutil
    import subprocess

    if os.name == "nt" or os.geteuid() != 0 or not shutil.which("apt-get"):
        return False
    command = ["apt-get", "install", "-y", "--no-install-recommends", *packages]
    print(f"{for_what}: {' '.join(command)}", file=sys.stderr, flush=True)
    if sys.stdin is not None and sys.stdin.isatty():
        print("Run this now? [Y/n] ", end="", file=sys.stderr, flush=True)
        answer = sys.stdin.readline()  # "" at the end of input: nobody agreed
        if answer.strip().lower() not in ("y", "yes") and answer != "\n":
            return False
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for step in (["apt-get", "update"], command):
        subprocess.run(step, env=quiet, check=True, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    return True


def library_problem(wanted: Platform, install: bool = False, load: Loader = ctypes.CDLL) -> str | None:
    """One sentence about what is missing for this platform, after installing it where that is wanted and possible."""
    if sys.platform == "win32":
        return _windows_problem(load)
    missing = missing_libraries(wanted, load)
    if not missing:
        return None
    import subprocess

    release = os_release()
    if install:
        try:
            if family(release) == "debian" and install_as_root(packages(missing, release), "Qt's system libraries"):
                missing = missing_libraries(wanted, load)
        except subprocess.CalledProcessError as error:
            return f"{how_to_install(missing, release)}\n(Tried that; apt-get said: {error.stderr.strip()})"
    return how_to_install(missing, release) if missing else None


def _windows_problem(load: Loader) -> str | None:
    try:
        load(WINDOWS_RUNTIME)
    except OSError:
        return (
            f"PyTorch needs the Microsoft Visual C++ runtime ({WINDOWS_RUNTIME} was not found): "
            f"install it from {WINDOWS_RUNTIME_PAGE}, then start again."
        )
    return None


def os_release() -> Mapping[str, str]:
    """The fields of /etc/os-release; empty where there is none."""
    import platform

    try:
        return platform.freedesktop_os_release()
    except OSError:
        return {}


# --------------------------------------------------------------------------------------------------- telling


def tell(text: str) -> None:
    """Say it where the person is looking: the terminal, or a message box after a start from the menu."""
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)
    if sys.platform == "win32" and sys.stderr is None:  # pythonw, or the program without a console
        ctypes.windll.user32.MessageBoxW(None, text, "Trainwright", 0x10)
    elif sys.platform == "linux" and not _has_reader() and no_display_reason(os.environ) is None:
        _show_box(text)


def _has_reader() -> bool:
    """Whether this was started from a terminal, or by a program that reads what it says; from a menu stderr is a journal or a log."""
    return any(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr)) or _is_pipe(sys.stderr)


def _is_pipe(stream: TextIO | None) -> bool:
    try:
        return stream is not None and stat.S_ISFIFO(os.fstat(stream.fileno()).st_mode)
    except (OSError, ValueError):  # something that stands in for a file, or is closed
        return False


def _show_box(text: str) -> None:
    import shutil
    import subprocess

    for command in (
        ["zenity", "--error", "--no-markup", "--title=Trainwright", f"--text={text}"],
        ["kdialog", "--title", "Trainwright", "--error", text],
        ["notify-send", "--urgency=critical", "Trainwright", text],
        ["xmessage", "-center", text],
    ):
        if shutil.which(command[0]):
            # In the background: the program ends, and what waits for it goes on, while a person still reads.
            shown = ["/bin/sh", "-c", '"$@" &', "sh", *command]
            nowhere = subprocess.DEVNULL
            subprocess.run(shown, check=False, stdin=nowhere, stdout=nowhere, stderr=nowhere, start_new_session=True)
            return


def report(environ: Mapping[str, str], load: Loader = ctypes.CDLL) -> int:
    """Print whether a window can open here, and what to do if not. Returns 0 when it can, else 1."""
    import platform

    wanted = choose_platform(environ)
    print(f"Python {platform.python_version()} on {platform.platform()}")
    display = no_display_reason(environ)
    libraries = library_problem(wanted, load=load)
    if display:
        print(f"{display} Training without a window works: trainwright run CONFIG.toml")
    if libraries:
        print(libraries)
    if display is None and libraries is None:
        print("The window can open here.")
    return 1 if display or libraries else 0


def main(argv: list[str] | None = None) -> int:
    """`python -m studio.preflight`: the report, or with --install the libraries put in place. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m studio.preflight", description="Can the window open here?")
    parser.add_argument("--install", action="store_true", help="install what is missing, where that needs no question")
    parser.add_argument("--offscreen", action="store_true", help="ask only for what the tests need: Qt with no display")
    options = parser.parse_args(argv)
    if not options.install:
        return report({**os.environ, "QT_QPA_PLATFORM": "offscreen"} if options.offscreen else os.environ)
    problem = library_problem("offscreen" if options.offscreen else choose_platform(os.environ), install=True)
    if problem:
        tell(problem)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main())
