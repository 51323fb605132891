"""``python packaging/linux/try_source.py ROOT``: README's two commands in a bare Debian, as somebody new to it. Linux, as root.

ROOT is made by debootstrap (or taken as it is) and has Python, which is all that README asks for. The sources as they are here are
laid in a folder whose name has spaces and three scripts; whoever starts them is no administrator, and pastes the lines that the program
asks for. After the set-up there is no network. The display is an Xvfb outside of ROOT, which so has none of Qt's libraries.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent), str(HERE.parent / "container")]

from builder.checkout import clean_tree  # noqa: E402
from closed_network import PORT, closed_network  # noqa: E402
from try_recipe import RecipeError, Root  # noqa: E402

USER = "newcomer"
HOME = f"/home/{USER}"
PLACE = f"{HOME}/Meine Modelle, 訓練 и обучение/trainwright"
RUNS = f"{HOME}/Documents/Trainwright/runs"
_AS_ROOT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND": "noninteractive"}
_TO_PASTE = re.compile(r"sudo (apt install [\w.+ -]+)$", re.MULTILINE)
_NO_NETWORK = ["unshare", "--net"]


class Newcomer:
    """Starts ``run.py`` in ``root``, behind the words ``network``."""

    def __init__(self, root: Root, network: list[str], environment: dict[str, str]) -> None:
        self.root, self.network = root, network
        self._environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": HOME, "LANG": "C.UTF-8"} | environment

    def command(self, *words: str, **environment: str) -> list[str]:
        """``python3 run.py WORDS``, with some more variables."""
        variables = self._environment | environment
        return self.network + self.root.command(["python3", f"{PLACE}/run.py", *words], USER, HOME, variables)

    def start(self, *words: str, **environment: str) -> str:
        """Start it until it is content, pasting what it asks to paste; returns what it said at last."""
        while True:
            began = time.monotonic()
            done = subprocess.run(
                self.command(*words, **environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            told = done.stdout.strip()
            tell(f"python3 run.py {shlex.join(words)}: code {done.returncode}, {time.monotonic() - began:.1f} s", told)
            if done.returncode == 0:
                return told
            if not self._paste(told):
                raise RecipeError("That failed, with nothing to paste.")

    def show_window(self, display: str, picture: Path) -> None:
        """Start the sample in the window, take a picture of it, and wait until it is trained."""
        before = count_trained(self.root)
        while True:
            began = time.monotonic()
            with subprocess.Popen(
                self.command("preset:sample", "--start", DISPLAY=display), stderr=subprocess.PIPE, text=True
            ) as program:
                window = self._wait_for_window(program, display)
                if window is None:
                    told = program.stderr.read() if program.stderr else ""
                    tell(f"with a display: code {program.wait()}, {time.monotonic() - began:.1f} s", told.strip())
                    if not self._paste(told):
                        raise RecipeError("No window, and nothing to paste.")
                    continue
                seen = time.monotonic() - began
                try:
                    while count_trained(self.root) == before:
                        if program.poll() is not None or time.monotonic() - began > 300:
                            raise RecipeError("The sample was not trained in the window.")
                        time.sleep(0.2)
                    tell(f"window after {seen:.1f} s, the sample trained in it after {time.monotonic() - began:.1f} s")
                    subprocess.run(["import", "-display", display, "-window", "root", str(picture)], check=True)
                finally:
                    program.terminate()
                return

    def _wait_for_window(self, program: subprocess.Popen[str], display: str) -> str | None:
        look = ["xdotool", "search", "--onlyvisible", "--name", "Trainwright"]
        while program.poll() is None:
            found = subprocess.run(
                look, env=os.environ | {"DISPLAY": display}, capture_output=True, text=True, check=False
            )
            if found.stdout.strip():
                return found.stdout.split()[0]
            time.sleep(0.1)
        return None

    def _paste(self, told: str) -> bool:
        """What a person does with the line; True where there was one."""
        line = _TO_PASTE.search(told)
        if line is not None:
            run_as_root(
                self.root,
                line[1].replace("apt install", "apt-get install -qq --yes --no-install-recommends") + " >/dev/null",
            )
        return line is not None


def main(argv: list[str] | None = None) -> int:
    """Returns the exit code: 0 where everything was as promised."""
    parser = argparse.ArgumentParser(prog="try_source.py", description="Try README's two commands in a bare Debian.")
    parser.add_argument("root", type=Path, help="where the system lies, or is made by debootstrap")
    parser.add_argument("--release", default="bookworm", help="which Debian is made (%(default)s)")
    parser.add_argument("--uv", type=Path, help="the program uv, put into the search path there")
    told = "a folder of this machine that the set-up needs, read-only: certificates, a package index on disk"
    parser.add_argument("--bind", action="append", default=[], metavar="FOLDER[:THERE]", help=told)
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable of each start")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--proxy", action="store_true", help="set up with no network but a proxy on the loopback")
    way.add_argument("--wheels", type=Path, help="set up without a network, from this folder of wheels")
    parser.add_argument("--fetch", type=Path, metavar="FOLDER", help="also have `run.py wheels` make such a folder")
    told = "also `run.py test`, of these files of tests, or all; the last thing, and without a display"
    parser.add_argument("--test", nargs="*", metavar="FILE", help=told)
    parser.add_argument("--picture", type=Path, default=Path("window.png"), help="of the window (%(default)s)")
    options = parser.parse_args(argv)
    root = Root(options.root.resolve(), [*options.bind, "/tmp/.X11-unix"], {})
    given = dict(word.split("=", 1) for word in options.env)
    with ExitStack() as stack:
        display = stack.enter_context(open_display())
        prepare(root, options.release, options.uv, options.wheels)
        network = _NO_NETWORK if options.wheels else []
        if options.proxy:
            network, asked = stack.enter_context(closed_network())
            given["HTTPS_PROXY"] = f"http://127.0.0.1:{PORT}"
        newcomer = Newcomer(root, network, given)
        newcomer.start()
        if options.proxy:
            tell(f"through the proxy: {len(asked)} tunnels to {', '.join(sorted(set(asked)))}")
        if options.fetch:
            newcomer.start("wheels")
            shutil.move(f"{root.path}{PLACE}/wheels", options.fetch)
        offline = Newcomer(root, _NO_NETWORK, given)
        if "Installing" in offline.start("--version"):
            raise RecipeError("A second start set up again.")
        offline.start()
        offline.show_window(display, options.picture)
        if options.test is not None:
            newcomer.start("test", *options.test)
    return 0


@contextmanager
def open_display() -> Iterator[str]:
    """The name of a new Xvfb of this machine that anybody may use."""
    command = ["Xvfb", "-displayfd", "1", "-ac", "-screen", "0", "1280x900x24"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            yield f":{server.stdout.readline().strip()}"
        finally:
            server.terminate()


def prepare(root: Root, release: str, uv: Path | None, wheels: Path | None) -> None:
    """A system with Python, somebody new to it, and the sources. What is bound into it is not: a package may have to write there."""
    root = Root(root.path, [], {})
    if not (root.path / "bin").exists():
        root.make(f"debian:{release}")
    shutil.copyfile("/etc/resolv.conf", root.path / "etc/resolv.conf")
    run_as_root(root, "apt-get -qq update")
    run_as_root(root, "apt-get -qq install --yes --no-install-recommends python3 ca-certificates >/dev/null")
    run_as_root(root, f"id {USER} >/dev/null 2>&1 || useradd --create-home {USER}")
    place = Path(f"{root.path}{PLACE}")
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    with clean_tree(allow_changes=True) as tree:
        shutil.copytree(tree, place)
    if uv is not None:
        shutil.copy(uv, root.path / "usr/local/bin/uv")
    if wheels is not None:
        shutil.copytree(wheels, place / "wheels")
    run_as_root(root, f"chown -R {USER}:{USER} {HOME}")
    run_as_root(root, "python3 --version; dpkg --list | grep -c ^ii")


def run_as_root(root: Root, line: str) -> None:
    """Raises RecipeError where it fails."""
    if root.run(["/bin/sh", "-c", line], "root", "/", _AS_ROOT):
        raise RecipeError(f"{line}: failed.")


def count_trained(root: Root) -> int:
    """How many runs have come to their end."""
    states = Path(f"{root.path}{RUNS}").glob("*/status.json")
    return sum(json.loads(path.read_text(encoding="utf-8")).get("status") == "completed" for path in states)


def tell(what: str, told: str = "") -> None:
    """A line of what was tried, and what the program said, indented."""
    print("\n".join([f"--- {what}", *(f"    {line}" for line in told.splitlines())]), flush=True)


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("try_source.py has to mount and chroot: run it as root, on a machine of your own.")
    try:
        sys.exit(main())
    except (RecipeError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(str(error))
