"""The container's recipe says what its tool can carry out, and its lock file what the engine needs."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
CONTAINER = CHECKOUT / "packaging" / "container"


@pytest.fixture(scope="module")
def tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("try_recipe", CONTAINER / "try_recipe.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["try_recipe"] = module  # its records look themselves up
    spec.loader.exec_module(module)
    return module


def test_the_recipe_is_read_as_docker_reads_it(tool: ModuleType) -> None:
    recipe = tool.read_recipe((CONTAINER / "Dockerfile").read_text(encoding="utf-8"))
    assert recipe.user not in ("", "root")
    assert recipe.check == ["python", "-m", "training", "check"]
    assert [*recipe.entry, *recipe.words] == ["python", "-m", "training", "run", "preset:sample"]
    assert recipe.environment["PATH"].startswith("/opt/venv/bin:/usr/local/sbin:")
    assert recipe.steps[0][2]["PATH"].startswith("/usr/local/sbin:")  # before the variable is set
    for name, words, _ in recipe.steps:
        if name == "COPY":
            assert all((CHECKOUT / source).exists() for source in words.split()[:-1])
    ignored = (CONTAINER / "Dockerfile.dockerignore").read_text().splitlines()
    copied = {source for name, words, _ in recipe.steps if name == "COPY" for source in words.split()[:-1]}
    assert copied == {line[1:] for line in ignored if line.startswith("!")}


@pytest.mark.parametrize(
    "line", ["ONBUILD RUN true", "RUN --mount=type=cache true", "COPY --from=other a b", "SHELL []", "ADD a b"]
)
def test_what_is_not_carried_out_is_refused(tool: ModuleType, line: str) -> None:
    with pytest.raises(tool.RecipeError, match="carried out here"):
        tool.read_recipe(f"FROM debian:bookworm-slim\n{line}\n")


def test_every_package_of_the_lock_file_has_digests_and_none_an_address() -> None:
    text = (CONTAINER / "requirements.lock").read_text(encoding="utf-8")
    assert "://" not in text
    entries = re.split(r"\n(?=\w)", text)[1:]
    assert len(entries) > 50
    assert not [
        entry for entry in entries if not re.match(r"[\w.-]+==\S+.*( \\\n    --hash=sha256:[0-9a-f]{64})+\n?$", entry)
    ]


def test_the_lock_file_has_what_the_engine_needs_and_not_the_window() -> None:
    import tomllib

    from training.system.installed import canonical_name

    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["engine"]]
    asked = {canonical_name(re.split(r"[<>=!;\[ ]", text)[0]) for text in wanted}
    text = (CONTAINER / "requirements.lock").read_text(encoding="utf-8")
    locked = set(re.findall(r"^([\w.-]+)==", text, re.MULTILINE))
    assert asked <= locked
    assert not locked & {"pyqtgraph", "pyside6-essentials", "shiboken6"}
