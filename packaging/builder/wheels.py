"""The wheel of both parts, the wheel of the engine alone, and the sdist: the same bytes from the same sources."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import tomlkit

from builder.checkout import run, source_date

ENGINE = "trainwright-engine"
"""As ``training/system/resources.py`` has it."""
_ENGINE_TEXT = """\
# Trainwright's engine

Trains PyTorch models without a window: `python -m training`, or `from training import run, resume, load_model, predict`.
It is the package `training` of Trainwright in the same version, as the installed window puts it into each engine that it makes.
By hand, rather install `trainwright[engine]`, which is the same with the name that updates go by.
"""


def make_wheel(tree: Path, out: Path) -> list[Path]:
    """The wheel with both packages, and the engine's, in ``out``."""
    return [_build(tree, "wheel", out), make_engine_wheel(tree, out)]


def make_sdist(tree: Path, out: Path) -> list[Path]:
    """The sources as hatchling packs them."""
    return [_build(tree, "sdist", out)]


def make_engine_wheel(tree: Path, out: Path) -> Path:
    """The wheel that goes into engines: made of a tree of its own, whose pyproject.toml is derived from the one of all."""
    own = tree.parent / f"{tree.name}-engine"
    shutil.rmtree(own, ignore_errors=True)
    shutil.copytree(tree / "training", own / "training")
    shutil.copytree(tree / "resources" / "presets", own / "resources" / "presets")
    shutil.copyfile(tree / "LICENSE", own / "LICENSE")
    (own / "README.md").write_text(_ENGINE_TEXT, encoding="utf-8")
    text = (tree / "pyproject.toml").read_text(encoding="utf-8")
    (own / "pyproject.toml").write_text(derive_project(text), encoding="utf-8")
    return _build(own, "wheel", out)


def derive_project(text: str) -> str:
    """The pyproject.toml of the engine's wheel: what the engine needs is no extra there, and nothing of the window is left."""
    document = tomlkit.parse(text).unwrap()
    project, hatch = document["project"], document["tool"]["hatch"]
    extras = project["optional-dependencies"]
    project["name"] = ENGINE
    project["description"] = "Trainwright's engine: trains PyTorch models without a window"
    project["dependencies"] = [*project["dependencies"], *extras["engine"]]
    project["classifiers"] = [each for each in project["classifiers"] if not each.startswith("Environment ::")]
    project["keywords"] = [each for each in project["keywords"] if each not in ("desktop", "PySide6")]
    for name in ("engine", "studio", "test", "packaging"):
        del extras[name]
    del project["scripts"], project["gui-scripts"]
    wheel = hatch["build"]["targets"]["wheel"]
    wheel["packages"] = ["training"]
    wheel["force-include"] = {
        source: target for source, target in wheel["force-include"].items() if target.startswith("training/")
    }
    return tomlkit.dumps({"build-system": document["build-system"], "project": project, "tool": {"hatch": hatch}})


def _build(tree: Path, target: str, out: Path) -> Path:
    out.mkdir(parents=True, exist_ok=True)
    words = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", out.resolve()]
    said = run(words, tree, SOURCE_DATE_EPOCH=str(source_date()), PYTHONPATH="", PYTHONDONTWRITEBYTECODE="1")
    return out / Path(said.strip().splitlines()[-1]).name
