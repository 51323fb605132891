"""Engines are installed from an index of stand-in wheels that is slow, breaks off, is away, or gives another build."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

import pytest

from tests.training.commands import Captured, json_line
from tests.training.engines.stand_ins import BEHIND_PROXY, PADDING, Server, serve_index, write_index
from training.cli import main
from training.engines import fetch, install
from training.engines.install import discard, list_unfinished
from training.engines.kinds import Machine
from training.engines.places import ENGINE_FILE, engines_folder
from training.engines.request import Request
from training.errors import Canceled, InputError
from training.system.gpus import NvidiaTraces

pytestmark = pytest.mark.skipif(os.name == "nt", reason="the environments here are POSIX's")
NVIDIA = Machine("linux", "x86_64", NvidiaTraces(True, "580.1"))


def install_from(server: Server, kind: str = "cpu", machine: Machine = NVIDIA) -> install.Installed:
    return install.install(Request(kind=kind, index=server.address), lambda _: None, machine=machine)  # type: ignore[arg-type]


def test_an_engine_is_installed_tried_and_removed(server: Server, capsys: Captured) -> None:
    assert main(["engines", "install", "cpu", "--index", server.address, "--yes", "--json"]) == 0
    record = json_line(capsys)
    assert (record["name"], record["build"], record["told"]) == ("cpu", "CPU", "")
    assert [each.name for each in engines_folder().iterdir() if each.is_dir()] == ["cpu"]
    assert main(["engines", "try", "cpu", "--json"]) == 0
    tried = json_line(capsys)
    assert (tried["origin"], tried["state"], tried["torchvision"]) == ("installed", "ready", "0.28.0")
    assert main(["engines", "install", "cpu", "--index", server.address, "--yes"]) == 2
    assert "There is an engine cpu already" in capsys.readouterr().err
    assert main(["engines", "remove", "cpu"]) == 0
    assert not (engines_folder() / "cpu").exists()


def test_what_it_takes_is_told_before_anything_is_asked_for(server: Server, capsys: Captured) -> None:
    assert main(["engines", "install", "cpu", "--index", server.address, "--plan", "--json"]) == 0
    told = capsys.readouterr()
    assert f"about 350 MB to download from {server.address}" in told.err
    assert server.asked == []
    assert not engines_folder().exists()


@pytest.mark.parametrize("kind", ["cuda", "rocm", "apple"])
def test_a_kind_that_makes_no_sense_here_is_refused_with_the_reason(kind: str) -> None:
    with pytest.raises(InputError, match=r"No NVIDIA GPU|No AMD GPU|Macs"):
        install_from(Server(address="http://127.0.0.1:1"), kind, Machine("linux", "x86_64"))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "torch", "cuda", "hip"),
    [
        ("cuda", "2.13.0+cu130", "13.0", None),
        ("rocm", "2.9.1+rocm6.4", None, "6.4.1"),
    ],
)
def test_each_kind_is_got_as_it_was_asked_for(
    tmp_path: Path,
    copied_environments: None,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    torch: str,
    cuda: str | None,
    hip: str | None,
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**12, 0, 10**12))  # the real ones take 16 GB
    with serve_index(write_index(tmp_path / "index", torch, cuda=cuda, hip=hip)) as server:
        made = install_from(server, kind, Machine("linux", "x86_64", NvidiaTraces(True, "580.1"), amd=True))
    assert (made.torch, made.told) == (torch, "")


def test_another_build_is_told_before_it_is_downloaded_where_its_version_says_so(server: Server) -> None:
    with pytest.raises(InputError, match=r"has torch 2\.13\.0\+cpu for the CPU and not the NVIDIA"):
        install_from(server, "cuda")
    assert server.list_ranges() == []
    assert list_unfinished() == []
    assert not any(each.is_dir() for each in engines_folder().iterdir())


@pytest.mark.slow
def test_another_build_is_told_afterwards_where_only_torch_itself_knows(
    tmp_path: Path, copied_environments: None
) -> None:
    with serve_index(write_index(tmp_path / "index", "2.13.0")) as server:
        made = install_from(server, "cuda")
    assert made.told.startswith("NVIDIA (CUDA) was asked for, and http://127.0.0.1")
    assert made.told.endswith("gave torch 2.13.0 (CPU). It trains on the CPU alone.")
    assert Path(made.python).is_file()


def test_an_index_that_is_away_leaves_nothing(copied_environments: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_RETRIES", "1")
    with pytest.raises(InputError, match="cannot be reached"):
        install_from(Server(address="http://127.0.0.1:1/simple"))
    assert list_unfinished() == []


@pytest.mark.slow
def test_a_proxy_brings_everything_and_its_password_is_told_to_nobody(
    tmp_path: Path, copied_environments: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "packages.invalid")
    told: list[str] = []
    with serve_index(write_index(tmp_path / "index"), as_proxy=True) as server:
        request = Request(kind="cpu", index=BEHIND_PROXY, proxy=server.address.replace("//", "//me:secret@"))
        with pytest.raises(InputError, match=r"packages\.invalid cannot be reached"):
            install.install(request.model_copy(update={"proxy": ""}), lambda _: None, machine=NVIDIA)
        stranger = request.model_copy(update={"proxy": server.address.replace("//", "//me:guessed@")})
        with pytest.raises(InputError, match="the proxy wants a name and a password"):
            install.install(stranger, lambda _: None, machine=NVIDIA)
        assert server.asked == []
        made = install.install(request, lambda progress: told.append(str(progress)), machine=NVIDIA)
        assert server.list_ranges() == [""]
    kept = (Path(made.python).parents[1] / ENGINE_FILE).read_text()
    assert made.build == "CPU"
    assert not any("secret" in words for words in (*told, kept))


@pytest.mark.slow
def test_a_proxy_that_is_away_is_told(copied_environments: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_RETRIES", "0")
    monkeypatch.setenv("PIP_TRUSTED_HOST", "packages.invalid")
    request = Request(kind="cpu", index=BEHIND_PROXY, proxy="http://127.0.0.1:1")
    with pytest.raises(InputError, match="cannot be reached") as refused:
        install.install(request, lambda _: None, machine=NVIDIA)
    assert "the proxy" in str(refused.value)
    assert list_unfinished() == []


def test_an_index_that_pip_does_not_trust_is_told(copied_environments: None) -> None:
    with pytest.raises(InputError, match=r"takes nothing from packages\.invalid over http"):
        install.install(Request(kind="cpu", index=BEHIND_PROXY), lambda _: None, machine=NVIDIA)


def test_a_folder_of_wheels_does_without_a_network(tmp_path: Path, copied_environments: None) -> None:
    root, wheels = write_index(tmp_path / "index"), tmp_path / "wheels"
    wheels.mkdir()
    for wheel in root.glob("*/*.whl"):
        shutil.copy(wheel, wheels)
    made = install.install(Request(kind="cpu", wheels=str(wheels)), lambda _: None, machine=NVIDIA)
    assert made.build == "CPU"
    (wheels / "torch-2.13.0+cpu-py3-none-any.whl").unlink()
    with pytest.raises(InputError, match=r"torch.* is not to be had there"):
        install.install(Request(kind="cpu", name="second", wheels=str(wheels)), lambda _: None, machine=NVIDIA)


def test_a_connection_that_breaks_off_goes_on_where_it_was(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "_REST_SECONDS", 0.0)
    server.broken = 1
    install_from(server)
    first, second = server.list_ranges()
    assert first == ""
    assert int(second.removeprefix("bytes=").removesuffix("-")) > PADDING // 2


@pytest.mark.slow
def test_a_canceled_installation_is_gone_on_with(
    server: Server, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    server.gate.clear()
    request = Request(kind="cpu", index=server.address)
    with pytest.raises(Canceled):
        install.install(request, lambda _: None, server.reached.is_set, NVIDIA)
    (unfinished,) = list_unfinished()
    assert (unfinished.request, unfinished.is_busy, unfinished.progress.stage) == (request, False, "downloading")
    monkeypatch.setattr("training.cli.engines.look_at_engines", list)
    assert main(["engines", "list"]) == 0
    assert "cpu: not finished; it was downloading " in capsys.readouterr().out
    with pytest.raises(InputError, match="other settings"):
        install.install(request.model_copy(update={"proxy": "http://proxy:1"}), lambda _: None, machine=NVIDIA)
    whole = {path.name for path in (engines_folder() / "cpu.partial/wheels").glob("*.whl")}
    assert whole
    server.gate.set()
    server.asked.clear()
    install.install(request, lambda _: None, machine=NVIDIA)
    assert not whole & {unquote(path).rpartition("/")[2] for path, _ in server.asked}
    assert list_unfinished() == []


@pytest.mark.slow
def test_what_was_killed_is_gone_on_with_or_discarded(server: Server, isolated_home: Path) -> None:
    server.gate.clear()
    command = [sys.executable, "-m", "training", "engines", "install", "cpu", "--index", server.address, "--yes"]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    assert server.reached.wait(120)
    process.send_signal(signal.SIGKILL)
    process.wait()
    server.gate.set()
    (unfinished,) = list_unfinished()
    assert not unfinished.is_busy
    assert install_from(server).build == "CPU"
    main(["engines", "remove", "cpu"])
    (engines_folder() / "cpu.partial" / "wheels").mkdir(parents=True)
    discard("cpu")
    assert not (engines_folder() / "cpu.partial").exists()


@pytest.mark.slow
def test_a_full_disk_leaves_nothing_half_made(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(fetch.Fetcher, "fetch", fill)
    with pytest.raises(InputError, match="the disk is full"):
        install_from(server)
    assert not (engines_folder() / "cpu.partial").exists()


class _Usage(NamedTuple):
    total: int
    used: int
    free: int


def test_a_disk_without_room_is_told_before_anything_is_made(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: _Usage(10**10, 10**10, 10**6))
    with pytest.raises(InputError, match=r"needs about 1\.5 GB in .* and 1 MB are free"):
        install_from(server)
    assert server.asked == []
    assert not (engines_folder() / "cpu.partial").exists()


def test_a_home_that_cannot_be_written_is_named(server: Server, isolated_home: Path) -> None:
    (isolated_home / "data").write_text("a file where a folder should be")
    with pytest.raises(InputError, match="cannot be written"):
        install_from(server)
    assert (isolated_home / "data").read_text() == "a file where a folder should be"


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (Request(kind="cpu", index="somewhere"), "package index somewhere is no address"),
        (Request(kind="cpu", wheels="/no/such/folder"), "no folder /no/such/folder"),
        (Request(kind="cpu", name="../up"), "cannot be a folder's"),
    ],
)
def test_a_setting_that_is_wrong_is_named(request_: Request, words: str) -> None:
    with pytest.raises(InputError, match=words):
        install.install(request_, lambda _: None, machine=NVIDIA)


@pytest.mark.slow
def test_an_environment_is_made_for_real(tmp_path: Path) -> None:
    with serve_index(write_index(tmp_path / "index")) as server:
        assert Path(install_from(server).python).is_file()


UV = """#!/bin/sh
printf '%s\\n' "$@" > '{log}'
echo "uv is not asked for more here" >&2
exit 1
"""


@pytest.mark.parametrize(
    ("source", "options"),
    [
        ({"index": "http://127.0.0.1:1/simple"}, ["--default-index", "http://127.0.0.1:1/simple"]),
        ({"wheels": "a, b"}, ["--no-index", "--find-links", "a%2C%20b"]),
    ],
)
def test_uv_takes_pip_from_nowhere_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: dict[str, str], options: list[str]
) -> None:
    """Where no Python here can make the environment; one that can needs nothing from anywhere."""
    log = tmp_path / "log"
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "uv").write_text(UV.format(log=log))
    (programs / "python").write_text("#!/bin/sh\nexit 1\n")
    for program in programs.iterdir():
        program.chmod(0o755)
    (tmp_path / "a, b").mkdir()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(programs))
    lacking = Request(kind="cpu", python=str(programs / "python"), **source)
    with pytest.raises(InputError, match="uv is not asked for more here"):
        install.install(lacking, lambda _: None, machine=NVIDIA)
    words = log.read_text().replace(f"{tmp_path.as_uri()}/", "").splitlines()
    assert words[:4] == ["venv", "--seed", "--python", lacking.python]
    assert words[4 : 4 + len(options)] == options
    log.unlink()
    install.make_environment(tmp_path / "made", Request(kind="cpu", **source), lambda: False)
    assert (tmp_path / "made" / "bin" / "pip").exists()
    assert not log.exists()


def test_a_python_that_uv_would_fetch_is_told_beforehand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "uv").write_text("#!/bin/sh\n")
    (tmp_path / "uv").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "GitHub" not in Request(kind="cpu").announce(NVIDIA)
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    assert "uv gets Python 3.12 from GitHub first" in Request(kind="cpu").announce(NVIDIA)
