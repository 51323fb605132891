"""``python packaging/container/try_recipe.py ROOT``: carry out the Dockerfile's steps in a folder, without Docker. Linux, as root.

ROOT is made with debootstrap from the Debian release that FROM names (``apt install debootstrap``), or taken as it is where
it exists. Each RUN, the health check and what follows ROOT on the command line (by default the recipe's CMD) work there by
chroot, as the recipe's user, in its folder, with its variables and, as Docker has it, 64 MB of /dev/shm. It is no image: no
layers, no cgroups, and the network and devices are this machine's. The steps are read from the Dockerfile itself.
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
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from string import Template

HERE = Path(__file__).resolve().parent
CHECKOUT = HERE.parents[1]
RECIPE = HERE / "Dockerfile"
SHM = "64m"  # Docker's own, where nobody says --shm-size
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class RecipeError(Exception):
    """The recipe says what cannot be carried out here."""


@dataclass
class Recipe:
    """What the instructions amount to."""

    base: str = ""
    steps: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    """Each RUN and COPY, with the variables there are by then."""
    environment: dict[str, str] = field(default_factory=lambda: {"PATH": _PATH})
    user: str = "root"
    folder: str = "/"
    check: list[str] = field(default_factory=list)
    entry: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """Each instruction with its words, lines that end in a backslash joined."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name.upper(), rest.strip()


def read_recipe(text: str) -> Recipe:
    """Raises RecipeError for an instruction that is not carried out here: it would be passed over in silence."""
    recipe = Recipe()
    for name, rest in instructions(text):
        if name == "FROM":
            recipe.base = rest
        elif name == "ENV":
            given = dict(word.split("=", 1) for word in shlex.split(rest))
            known = recipe.environment
            recipe.environment = known | {key: Template(value).substitute(known) for key, value in given.items()}
        elif name == "USER":
            recipe.user = rest
        elif name == "WORKDIR":
            recipe.folder = rest
        elif name in ("RUN", "COPY"):
            if rest.startswith(("--", "[", "<<")):
                raise RecipeError(f"{name} {rest}: only plain words are carried out here.")
            if recipe.user != "root" or recipe.folder != "/":
                raise RecipeError(f"{name} {rest}: stands after USER or WORKDIR, which is not carried out here.")
            recipe.steps.append((name, rest, recipe.environment))
        elif name == "HEALTHCHECK":
            recipe.check = json.loads(rest.partition("CMD")[2])
        elif name in ("ENTRYPOINT", "CMD"):
            setattr(recipe, "entry" if name == "ENTRYPOINT" else "words", json.loads(rest))
        elif name != "VOLUME":
            raise RecipeError(f"{name}: is not carried out here; teach {Path(__file__).name} to.")
    return recipe


@dataclass
class Root:
    """A folder that holds a Debian system."""

    path: Path
    binds: list[str]
    environment: dict[str, str]

    def make(self, base: str) -> None:
        """Unpack the Debian release that ``base`` is of."""
        found = re.match(r"debian:([a-z]+)", base)
        if found is None:
            raise RecipeError(f"FROM {base}: debootstrap makes Debian's releases only.")
        subprocess.run(["debootstrap", "--variant=minbase", found[1], str(self.path)], check=True)

    def run(self, words: list[str], user: str, folder: str, environment: dict[str, str]) -> int:
        """Start ``words`` inside; returns the exit code. What is mounted for it is gone afterwards."""
        return subprocess.run(self.command(words, user, folder, environment), check=False).returncode

    def command(self, words: list[str], user: str, folder: str, environment: dict[str, str]) -> list[str]:
        """What starts ``words`` inside, and becomes them."""
        inside = shlex.quote(str(self.path))
        mounts = [f"mount --rbind /dev {inside}/dev", f"mount -t proc proc {inside}/proc"]
        mounts.append(f"mount -t tmpfs -o size={SHM},mode=1777 shm {inside}/dev/shm")
        for bind in self.binds:
            here, _, there = bind.partition(":")
            place = shlex.quote(str(self.path) + (there or here))
            mounts.append(f"mkdir -p {place} && mount --bind -o ro {shlex.quote(here)} {place}")
        variables = shlex.join(f"{name}={value}" for name, value in (environment | self.environment).items())
        command = shlex.join(["/bin/sh", "-c", f"cd {shlex.quote(folder)} && exec {shlex.join(words)}"])
        as_user = shlex.quote(f"--userspec={user}:{user}")
        script = " && ".join([*mounts, f"exec chroot {as_user} {inside} /usr/bin/env -i {variables} {command}"])
        return ["unshare", "--mount", "/bin/sh", "-c", script]

    def copy(self, source: str, target: str) -> None:
        """A file or a folder of the checkout, in place of what is there, without Python's caches."""
        here, there = CHECKOUT / source, self.path / target.lstrip("/")
        there.parent.mkdir(parents=True, exist_ok=True)
        if here.is_dir():
            shutil.rmtree(there, ignore_errors=True)
            shutil.copytree(here, there, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(here, there)


def main(argv: list[str] | None = None) -> int:
    """Returns the exit code: that of the first step that failed, of the health check, or of the command."""
    parser = argparse.ArgumentParser(prog="try_recipe.py", description="Carry out the Dockerfile's steps in a folder.")
    parser.add_argument("root", type=Path, help="where the system lies, or is made by debootstrap")
    told = "a folder of this machine that the steps need, read-only: certificates, a package index on disk"
    parser.add_argument("--bind", action="append", default=[], metavar="FOLDER[:THERE]", help=told)
    parser.add_argument("--env", action="append", default=[], metavar="NAME=VALUE", help="a variable of each step")
    parser.add_argument("--only-run", action="store_true", help="the steps were carried out before: only check and run")
    options, words = parser.parse_known_args(argv)
    recipe = read_recipe(RECIPE.read_text(encoding="utf-8"))
    root = Root(options.root.resolve(), options.bind, dict(word.split("=", 1) for word in options.env))
    if not (root.path / "bin").exists():
        root.make(recipe.base)
    shutil.copyfile("/etc/resolv.conf", root.path / "etc/resolv.conf")
    code = 0 if options.only_run else carry_out(recipe, root)
    if code == 0:
        print(f"--- HEALTHCHECK {shlex.join(recipe.check)}", flush=True)
        code = root.run(recipe.check, recipe.user, recipe.folder, recipe.environment)
        print(f"the health check's exit code: {code}", flush=True)
    if code == 0:
        command = [*recipe.entry, *(words or recipe.words)]
        print(f"--- {shlex.join(command)}", flush=True)
        code = root.run(command, recipe.user, recipe.folder, recipe.environment)
    return code


def carry_out(recipe: Recipe, root: Root) -> int:
    """The steps in their order, until one fails."""
    for name, rest, environment in recipe.steps:
        print(f"--- {name} {rest}", flush=True)
        if name == "COPY":
            *sources, target = shlex.split(rest)
            for source in sources:
                root.copy(source, target)
            continue
        # As a child of its own: a shell's && would give the first word to exec alone.
        code = root.run(["/bin/sh", "-c", rest], "root", "/", environment)
        if code:
            return code
    return 0


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("try_recipe.py has to mount and chroot: run it as root, on a machine of your own.")
    try:
        sys.exit(main())
    except (RecipeError, OSError, subprocess.CalledProcessError) as error:
        sys.exit(str(error))
