"""run.py's set-up with stand-in wheels, by pip and by uv: behind a proxy, without a network, in a folder with a name of spaces and letters."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import run
from tests.training.engines.stand_ins import BEHIND_PROXY, Server, serve_index
from tests.training.package_index import make_wheel, write_pages

REQUIREMENTS = {
    "numpy": "numpy>=1.26",
    "torch": "torch>=2.7; extra == 'engine'",
    "pytest": "pytest>=8; extra == 'test'",
}
PYPROJECT = """
[build-system]
requires = ["hatchling>=1.27"]
build-backend = "hatchling"
[project]
name = "trainwright"
version = "1"
dependencies = ["numpy>=1.26"]
[project.optional-dependencies]
studio = []
engine = ["torch>=2.7"]
test = ["trainwright[studio,engine]", "pytest>=8"]
"""
pytestmark = pytest.mark.slow
BUILDER = f"""
import pathlib, zipfile

LINES = ["Metadata-Version: 2.1", "Name: trainwright", "Version: 1", *{[f"Provides-Extra: {part}" for part in ("studio", "engine", "test")]}]
LINES += {[f"Requires-Dist: {each}" for each in REQUIREMENTS.values()]}
LINES += [f"Requires-Dist: trainwright[{{part}}]; extra == 'test'" for part in ("studio", "engine")]


def build_editable(folder, settings=None, metadata=None):
    wheel, record = "trainwright-1-py3-none-any.whl", "trainwright-1.dist-info/"
    with zipfile.ZipFile(pathlib.Path(folder, wheel), "w") as archive:
        archive.writestr("_editable_impl_trainwright.pth", f"{{pathlib.Path.cwd()}}\\n" * 2)  # once a package, as hatchling does
        archive.writestr(record + "METADATA", "\\n".join(LINES))
        archive.writestr(record + "WHEEL", "Wheel-Version: 1.0\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n")
        archive.writestr(record + "RECORD", "")
    return wheel
"""
"""A build tool in place of hatchling, whose wheel is no more than a line that points at the checkout."""


@pytest.fixture(autouse=True)
def _settings_of_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither proxies nor indexes of this machine."""
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "PIP_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    for name in (
        "PIP_FIND_LINKS",
        "PIP_EXTRA_INDEX_URL",
        "PIP_NO_INDEX",
        "PIP_CONSTRAINT",
        "UV_INDEX",
        "UV_DEFAULT_INDEX",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("UV_HTTP_RETRIES", "0")
    monkeypatch.setenv("PIP_TRUSTED_HOST", BEHIND_PROXY.removeprefix("http://"))


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with pip."""
    folder = tmp_path_factory.mktemp("template") / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=300)
    return folder


@pytest.fixture(params=["pip", "uv"])
def checkout(request: pytest.FixtureRequest, tmp_path: Path, template: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program of two files that is set up for real, but for its environment, which is copied."""
    folder = tmp_path / "Meine Modelle, 訓練 и обучение"
    (folder / "studio").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PYPROJECT, encoding="utf-8")
    (folder / "studio" / "__main__.py").write_text("import numpy, sys\nprint(numpy.VERSION, sys.argv[1:])\n")
    monkeypatch.setattr(run, "HERE", folder)
    for name in ("ENVIRONMENT", "STAMP", "UNFINISHED", "LOCK", "LOG", "WHEELS"):
        monkeypatch.setattr(run, name, folder / Path(getattr(run, name)).relative_to(Path(run.__file__).parent))
    monkeypatch.setattr(run, "check_disk", lambda: None)
    monkeypatch.setattr(run, "make_environment", lambda: shutil.copytree(template, folder / ".venv", symlinks=True))
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if request.param == "uv" and uv is None:
        pytest.skip("uv is not here")
    monkeypatch.setattr("shutil.which", lambda name: uv if request.param == "uv" else None)
    if request.param == "uv":
        followed = run.follow  # uv alone: what it fails at, pip would do in its place
        monkeypatch.setattr(
            run,
            "follow",
            lambda command, environ: followed(command, environ) if command[0] == uv or "wheel" in command else 1,
        )
    return folder


@pytest.fixture
def wheels(tmp_path: Path) -> Path:
    """An index of all that it needs, pip included."""
    root = tmp_path / "index"
    for name in REQUIREMENTS:
        make_wheel(root / name, name, "9999.0")
    make_wheel(root / "hatchling", "hatchling", "9999.0", content=BUILDER)
    make_wheel(root / "editables", "editables", "0.5")
    make_wheel(root / "pip", "pip", "9999.0", tag="py2-none-any")  # the environment has one that works
    write_pages(root, metadata=True)
    return root


def start(checkout: Path) -> str:
    """What the program says that was set up."""
    command = [str(run.environment_python()), "-P", "-m", "studio", "a b"]
    environ = run.clean(os.environ)
    return subprocess.run(command, cwd="/", env=environ, capture_output=True, text=True, check=True).stdout.strip()


def lay_beside(checkout: Path, wheels: Path) -> None:
    (checkout / "wheels").mkdir()
    for wheel in wheels.glob("*/*.whl"):
        shutil.copy(wheel, checkout / "wheels")


def test_a_folder_of_wheels_does_without_a_network(
    checkout: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:1")
    lay_beside(checkout, wheels)
    run.set_up(testing=False)
    assert f"from {checkout / 'wheels'}" in capsys.readouterr().err
    assert start(checkout) == "9999.0 ['a b']"
    (line,) = run.ENVIRONMENT.glob("**/_editable*.pth")
    assert line.read_bytes().isascii() or sys.version_info >= (3, 13)  # as any system's encoding reads it
    shutil.rmtree(checkout / "wheels")
    run.set_up(testing=False)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("name", ["numpy", "torch", "hatchling"])
def test_a_wheel_that_is_missing_in_the_folder_is_named(checkout: Path, wheels: Path, name: str) -> None:
    shutil.rmtree(wheels / name)
    lay_beside(checkout, wheels)
    with pytest.raises(run.SetUpError, match=rf"^{name}(>=\S+)? is not among the wheels in .*run\.py wheels"):
        run.set_up(testing=False)


def test_an_index_behind_a_proxy_is_reached_through_it_alone(
    checkout: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", BEHIND_PROXY)
    with pytest.raises(
        run.SetUpError, match=r"^(packages\.invalid|the package index) cannot be reached\. .*run\.py wheels"
    ):
        run.set_up(testing=False)
    with serve_index(wheels, as_proxy=True) as proxy:
        let_use(proxy, "me:guessed", monkeypatch)
        with pytest.raises(run.SetUpError, match=r"^the proxy wants a name and a password\. .*NAME:PASSWORD@HOST"):
            run.set_up(testing=False)
        assert proxy.asked == []
        let_use(proxy, "me:secret", monkeypatch)
        run.set_up(testing=False)
    assert start(checkout) == "9999.0 ['a b']"


def test_a_proxy_that_is_away_is_told(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:1")
    with pytest.raises(
        run.SetUpError, match=r"cannot be reached: the proxy does not answer\. Check its address in HTTPS_PROXY"
    ):
        run.set_up(testing=False)


def test_wheels_are_fetched_for_a_computer_without_a_network(
    checkout: Path, wheels: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(wheels / "pip", "pip", "9998.0")
    write_pages(wheels, metadata=True)
    with serve_index(wheels) as server, monkeypatch.context() as here:
        here.setenv("PIP_INDEX_URL", server.address)
        assert run.main(["wheels"]) == 0
    found = {path.name.partition("-")[0] for path in (checkout / "wheels").iterdir()}
    assert found == {"pip", "editables", "hatchling", *REQUIREMENTS}
    assert not (checkout / "wheels.part").exists()
    (checkout / "wheels" / "pip-9998.0-py3-none-any.whl").unlink()  # no pip that works
    shutil.rmtree(checkout / ".venv")
    run.set_up(testing=True)
    assert json.loads(run.STAMP.read_text(encoding="utf-8"))["test"] is True
    assert start(checkout) == "9999.0 ['a b']"


def let_use(proxy: Server, person: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, proxy.address.replace("//", f"//{person}@"))
