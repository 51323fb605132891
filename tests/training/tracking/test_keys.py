"""Keys of trackers: taken from the environment or the system's keyring, and written nowhere."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from tests.training.file_keyring import use_file_keyring
from training.cli import main
from training.runs.folder import RunFolder
from training.sidecars.keys import SERVICE, KeyringFault, find_source, provide_keys, store_key
from training.tracking.settings import KEYS, VARIABLES, settings_file

pytest.importorskip("keyring")

KEY = "0123456789abcdef-a-key-that-is-nobody-s-0123456789"


@pytest.fixture
def vault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of a keyring that this process and its children use."""
    with use_file_keyring(tmp_path, monkeypatch) as file:
        yield file


@pytest.fixture
def server() -> Iterator[tuple[str, list[str]]]:
    """The address of a server that answers every request by what it was sent as the key, and those keys."""
    heard: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            heard.append(self.headers.get("Authorization", ""))
            body = json.dumps({"error_code": "INVALID_PARAMETER_VALUE", "message": f"bad header {heard[-1]}"}).encode()
            self.send_response(400)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", heard
    server.shutdown()
    server.server_close()


def write_settings(text: str) -> None:
    settings_file().parent.mkdir(parents=True, exist_ok=True)
    settings_file().write_text(text)


def files_with(key: str, *places: Path) -> list[Path]:
    """The files at and below ``places`` that hold ``key``."""
    return [
        path for place in places for path in place.rglob("*") if path.is_file() and key.encode() in path.read_bytes()
    ]


def test_a_key_in_the_keyring_is_found_replaced_and_deleted(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert find_source("WANDB_API_KEY") == ""
    store_key("WANDB_API_KEY", "first")
    store_key("WANDB_API_KEY", KEY)
    assert json.loads(vault.read_text()) == {f"{SERVICE}/WANDB_API_KEY": KEY}
    assert find_source("WANDB_API_KEY") == "keyring"
    assert provide_keys([["WANDB_API_KEY"]]) == ""
    assert os.environ["WANDB_API_KEY"] == KEY
    monkeypatch.setenv("WANDB_API_KEY", "from outside")
    assert find_source("WANDB_API_KEY") == "environment"
    assert provide_keys([["WANDB_API_KEY"]]) == ""
    assert os.environ["WANDB_API_KEY"] == "from outside"
    store_key("WANDB_API_KEY", "")
    store_key("WANDB_API_KEY", "")
    assert json.loads(vault.read_text()) == {}


def test_a_user_in_the_environment_gets_the_password_of_the_keyring_and_a_whole_key_nothing(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, user, password = VARIABLES["mlflow"]
    store_key(password, "a password")
    store_key(token, "a token")
    monkeypatch.setenv(user, "ada")
    assert provide_keys(KEYS["mlflow"]) == ""
    assert (os.environ[password], token in os.environ) == ("a password", False)
    monkeypatch.delenv(password)
    monkeypatch.setenv(token, "another")
    assert provide_keys(KEYS["mlflow"]) == ""
    assert password not in os.environ


def test_a_locked_keyring_is_one_sentence(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FILE_KEYRING", str(vault.with_name("locked")))
    told = provide_keys([["WANDB_API_KEY"]])
    assert told == (
        "The system's keyring cannot be used (the person said no); set WANDB_API_KEY in the environment instead."
    )
    with pytest.raises(KeyringFault, match="the person said no"):
        store_key("WANDB_API_KEY", KEY)


def test_a_system_without_a_keyring_has_no_key_and_says_so_when_it_is_to_keep_one(
    vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")
    assert provide_keys([["WANDB_API_KEY"]]) == ""
    assert find_source("WANDB_API_KEY") == ""
    with pytest.raises(KeyringFault, match="no keyring; set WANDB_API_KEY in the environment"):
        store_key("WANDB_API_KEY", KEY)
    assert not vault.exists()


@pytest.mark.slow
def test_no_key_stands_in_the_run_the_settings_or_the_index(
    config: Path, capsys: Captured, vault: Path, server: tuple[str, list[str]], isolated_home: Path
) -> None:
    pytest.importorskip("mlflow")
    url, heard = server
    store_key("MLFLOW_TRACKING_TOKEN", KEY)
    write_settings(f"[mlflow]\nurl = '{url}'")
    assert main(["run", str(config), "--track", "mlflow", "--json"]) == 0
    run = json_line(capsys)
    done = subprocess.run(
        [sys.executable, "-m", "training", "track", run["run"], "--to", "mlflow"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert f"Bearer {KEY}" in heard
    assert "refuses what it is sent" in done.stderr
    assert "bad header Bearer ***" in done.stderr  # which the server said with the key
    assert KEY not in done.stderr
    assert main(["show", run["run"]]) == 0
    told = capsys.readouterr().out
    assert "bad header Bearer ***" in told
    assert KEY not in told
    assert (RunFolder(Path(run["folder"])).tracking / "mlflow.json").is_file()
    assert files_with(KEY, isolated_home, config.parent) == [vault]
    assert list(isolated_home.rglob("*.db*")) or list(
        isolated_home.rglob("*.sqlite*")
    )  # the index was there to look into


def test_a_keyring_that_is_locked_is_told_beside_the_refusal_that_it_caused(
    config: Path, capsys: Captured, vault: Path, server: tuple[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("mlflow")
    monkeypatch.setenv("FILE_KEYRING", str(vault.with_name("locked")))
    write_settings(f"[mlflow]\nurl = '{server[0]}'\non = false")
    assert main(["run", str(config), "--json"]) == 0
    run = json_line(capsys)["run"]
    assert main(["track", run, "--to", "mlflow"]) == 1
    capsys.readouterr()
    assert main(["track", run, "--status"]) == 0
    told = capsys.readouterr().out
    assert "refuses what it is sent" in told
    assert "The system's keyring cannot be used (the person said no)" in told


@pytest.mark.slow
def test_no_key_stands_in_what_weights_and_biases_s_client_writes(
    config: Path, capsys: Captured, vault: Path, isolated_home: Path, server: tuple[str, list[str]]
) -> None:
    pytest.importorskip("wandb")
    store_key("WANDB_API_KEY", KEY)
    assert main(["run", str(config), "--json"]) == 0
    run = json_line(capsys)
    for mode in ("offline", "online"):
        write_settings(f"[wandb]\nmode = '{mode}'\non = false")
        done = subprocess.run(
            [sys.executable, "-m", "training", "track", run["run"], "--to", "wandb"],
            env=os.environ | {"WANDB_BASE_URL": server[0]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == (mode == "online")  # where nobody takes it
        assert KEY not in done.stderr
    assert server[1], "the client asked nobody"
    assert files_with(KEY, isolated_home, config.parent) == [vault]


def test_a_key_is_kept_told_of_and_removed_by_command_and_never_shown(
    vault: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{KEY}\n"))
    assert main(["key", "WANDB_API_KEY"]) == 0
    assert json.loads(vault.read_text()) == {f"{SERVICE}/WANDB_API_KEY": KEY}
    monkeypatch.setenv("MLFLOW_TRACKING_TOKEN", KEY)
    assert main(["key"]) == 0
    told = capsys.readouterr()
    assert re.search(r"WANDB_API_KEY +in the system's keyring\n", told.out)
    assert re.search(r"MLFLOW_TRACKING_TOKEN +in the environment\n", told.out)
    assert re.search(r"MLFLOW_TRACKING_PASSWORD +none\n", told.out)
    assert KEY not in told.out + told.err
    assert main(["key", "WANDB_API_KEY", "--remove", "--json"]) == 0
    assert json_line(capsys) == {"WANDB_API_KEY": ""}
    assert json.loads(vault.read_text()) == {}


@pytest.mark.parametrize(
    ("words", "typed", "said"),
    [
        (["WANDB_KEY"], KEY, "WANDB_KEY: there is no such key; there are MLFLOW_TRACKING_TOKEN,"),
        (["--remove"], "", "--remove: name the key to remove"),
        (["WANDB_API_KEY"], " \n", "WANDB_API_KEY: a key is one line of letters"),
        (["WANDB_API_KEY"], "one\ntwo\n", "WANDB_API_KEY: a key is one line of letters"),
    ],
)
def test_what_is_no_key_is_refused(
    vault: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured, words: list[str], typed: str, said: str
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(typed))
    assert main(["key", *words]) == 2
    assert said in capsys.readouterr().err
    assert not vault.exists()


def test_a_keyring_that_is_locked_or_missing_is_told_in_a_sentence(
    vault: Path, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(KEY))
    monkeypatch.setenv("FILE_KEYRING", str(vault.with_name("locked")))
    assert main(["key", "WANDB_API_KEY"]) == 2
    assert "set WANDB_API_KEY in the environment instead" in capsys.readouterr().err
    assert main(["key", "--json"]) == 0
    assert "the person said no" in json_line(capsys)["problem"]
