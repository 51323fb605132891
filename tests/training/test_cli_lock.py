"""``python -m training lock``, against an index of hand-made wheels on the loopback; pip itself installs what it wrote."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from tests.training.package_index import make_wheel, serve, write_pages
from training.cli import main
from training.engine.runs import attempt
from training.runs.folder import RunFolder
from training.system.installed import Package

OURS = Package("trainwright", "0.1.0", "editable", "file:///home/somebody/trainwright")
ALPHA, BETA = Package("alpha", "1.0", "index"), Package("beta-pack", "2.5", "index")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Wheels of alpha for two systems, and of beta-pack; pip is told of nothing else."""
    root = tmp_path / "index"
    make_wheel(root / "alpha", "alpha", "1.0")
    make_wheel(root / "alpha", "alpha", "1.0", "py3-none-win_amd64", "WINDOWS = True\n")
    make_wheel(root / "alpha", "alpha", "1.1")
    make_wheel(root / "beta-pack", "beta-pack", "2.5")
    write_pages(root)
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    return root


def begin(config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, *packages: Package) -> str:
    monkeypatch.setattr(attempt, "installed_packages", lambda: packages)
    assert main(["run", str(config), "--set", "loop.epochs=1", "--json"]) == 0
    return str(json_line(capsys)["folder"])


def install(lock: Path, target: Path, index: str) -> subprocess.CompletedProcess[str]:
    asked = ["install", "--no-deps", "--require-hashes", "--requirement", str(lock), "--target", str(target)]
    options = ["--index-url", index, "--no-cache-dir", "--disable-pip-version-check"]
    return subprocess.run([sys.executable, "-m", "pip", *asked, *options], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_pip_installs_what_is_written_and_refuses_another_file(
    index: Path, config: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, lock = (
        begin(config, capsys, monkeypatch, ALPHA, BETA, Package("pip", "1", "index"), OURS),
        tmp_path / "run.lock",
    )
    with serve(index) as url:
        monkeypatch.setenv("PIP_INDEX_URL", url)
        assert main(["lock", run, "--out", str(lock), "--json"]) == 0
        told = json_line(capsys)
        text = lock.read_text()
        assert (told["packages"], told["digests"], told["complete"]) == (
            2,
            3,
            True,
        )  # both systems' wheels of alpha 1.0
        assert [item["name"] for item in told["left_out"]] == ["trainwright"]
        assert "# Not in it: trainwright 0.1.0 ran from a folder file:///home/somebody/trainwright, " in text
        assert "127.0.0.1" not in text
        done = install(lock, tmp_path / "there", url)
        assert done.returncode == 0, done.stderr
        assert sorted(path.name for path in (tmp_path / "there").glob("*.py")) == ["alpha.py", "beta_pack.py"]
        make_wheel(index / "beta-pack", "beta-pack", "2.5", content="HARM = True\n")
        write_pages(index)
        done = install(lock, tmp_path / "again", url)
        assert done.returncode != 0
        assert "DO NOT MATCH THE HASHES" in done.stderr


def test_what_has_no_digest_is_named_with_what_to_do(
    index: Path, config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    digest = "ab" * 32
    run = begin(
        config, capsys, monkeypatch, ALPHA,
        Package("beta-pack", "2.5+cpu", "index"),
        Package("copied", "1", "folder", "file:///home/somebody/copied"),
        Package("linked", "1", "archive", "https://example.org/linked-1-py3-none-any.whl", sha256=digest),
        Package("local", "1", "archive", "file:///home/somebody/local-1-py3-none-any.whl", sha256=digest),
        Package("plain", "1", "archive", "file:///home/somebody/plain.zip"),
        Package("versioned", "1", "repository", "https://example.org/versioned.git", commit="c0ffee"),
    )  # fmt: skip
    monkeypatch.setenv("PIP_INDEX_URL", index.as_uri())
    assert main(["lock", run]) == 1
    text, told = capsys.readouterr()
    lines = text.splitlines()
    for said in (
        "beta-pack 2.5+cpu is in no index that pip knows here; beta-pack's makers have an index of their own for builds like cpu",
        "copied 1 is installed from the folder file:///home/somebody/copied; copy it and pip install --no-deps FOLDER",
        "plain 1 was installed from file:///home/somebody/plain.zip, whose digest was not noted",
        "versioned 1 is installed from a repository; pip install --no-deps 'git+https://example.org/versioned.git@c0ffee'",
        "trainwright 0.1.0 ran from a folder, ",  # it is not installed, but found
    ):
        assert f"# Not in it: {said}" in text
        assert f"Not in it: {said}" in told
    assert "linked @ https://example.org/linked-1-py3-none-any.whl \\" in lines
    assert "local==1 \\" in lines
    assert lines.count(f"    --hash=sha256:{digest}") == 2
    assert (
        "local 1 was installed from the file file:///home/somebody/local-1-py3-none-any.whl, which no index has" in told
    )
    assert lines[-1].startswith("    --hash")


@pytest.mark.slow
def test_folders_of_wheels_and_withdrawn_versions(
    index: Path, config: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pages(index, yanked="wrong sums")
    run = begin(config, capsys, monkeypatch, ALPHA, Package("gamma", "3", "system"), OURS)
    digest = make_wheel(tmp_path / "wheels", "gamma", "3")
    monkeypatch.setenv("PIP_INDEX_URL", index.as_uri())
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "wheels"))
    assert main(["lock", run]) == 0
    text, told = capsys.readouterr()
    assert f"gamma==3 \\\n    --hash=sha256:{digest}\n" in text
    assert "alpha 1.0 was withdrawn by its makers (yanked): wrong sums; pip installs it with a warning." in told
    assert "gamma came by conda or the system's package manager" in told
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    assert main(["lock", run]) == 1
    assert "Not in it: alpha 1.0 is in no index that pip knows here" in capsys.readouterr().err


@pytest.mark.parametrize("closed", [False, True])
def test_an_index_that_is_away_or_closed_is_one_sentence_without_the_password(
    index: Path, config: Path, tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch, closed: bool
) -> None:
    run, lock = begin(config, capsys, monkeypatch, ALPHA, OURS), tmp_path / "run.lock"
    lock.write_text("as it was\n")
    with serve(index, closed) as url:
        address = url.removeprefix("http://")
        if closed:
            monkeypatch.setenv("PIP_INDEX_URL", f"http://me:secret@{address}")
            assert main(["lock", run, "--out", str(lock)]) == 2
    if not closed:
        monkeypatch.setenv("PIP_INDEX_URL", f"http://me:secret@{address}")
        assert main(["lock", run, "--out", str(lock)]) == 2
    told = capsys.readouterr().err.splitlines()[1:]
    assert told[0].startswith(
        f"The package index {address} {'answers 403 Forbidden' if closed else 'cannot be reached'}"
    )
    assert "secret" not in "".join(told)
    assert len(told) == 1
    assert lock.read_text() == "as it was\n"


def test_a_resumed_run_is_what_is_installed_by_then(
    index: Path, config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = begin(config, capsys, monkeypatch, ALPHA, OURS)
    monkeypatch.setenv("PIP_INDEX_URL", index.as_uri())
    checkpoint = Path(run) / "checkpoints" / "step-00000004"
    monkeypatch.setattr(attempt, "installed_packages", lambda: (Package("alpha", "1.1", "index"), OURS))
    assert main(["resume", str(checkpoint)]) == 0
    capsys.readouterr()
    assert main(["lock", run]) == 0
    assert "alpha==1.1 \\" in capsys.readouterr().out
    kept = json.loads(RunFolder(Path(run)).packages_file.read_text())
    assert [packages[0]["version"] for packages in kept.values()] == ["1.0", "1.1"]


def test_a_list_that_is_damaged_or_was_never_kept_is_said(
    index: Path, config: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = RunFolder(Path(begin(config, capsys, monkeypatch, ALPHA, OURS)))
    text = folder.packages_file.read_text()
    for damaged in (
        "",
        "{}",
        text.replace("1.0", "6.6"),
        text.replace('"index"', '"elsewhere"'),
        text.replace("{", "["),
    ):
        folder.packages_file.write_text(damaged)
        assert main(["lock", str(folder.path)]) == 2
        assert f"{folder.packages_file}: is missing or damaged" in capsys.readouterr().err
    assert main(["resume", str(folder.checkpoints / "step-00000004")]) == 0
    assert folder.packages_file.read_text() == text
    folder.environment_file.unlink()
    events = folder.events_file.read_text().splitlines(keepends=True)
    folder.events_file.write_text("".join(line for line in events if "attempt_started" not in line))
    capsys.readouterr()
    assert main(["lock", str(folder.path)]) == 2
    assert f"The run {folder.id} kept no list of its packages" in capsys.readouterr().err
