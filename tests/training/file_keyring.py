"""A keyring of a system that has one: a file, for this process and its children."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_BACKEND = '''
"""A keyring in a file, as the system would have one."""
import json, os
from pathlib import Path
from keyring.backend import KeyringBackend
from keyring.compat import properties
from keyring.errors import KeyringLocked


class FileKeyring(KeyringBackend):
    @properties.classproperty
    def priority(cls):
        if "FILE_KEYRING" not in os.environ:
            raise RuntimeError("only for the tests that name its file")
        return 1

    def _load(self):
        path = Path(os.environ["FILE_KEYRING"])
        if path.name == "locked":
            raise KeyringLocked("the person said no")
        return json.loads(path.read_text()) if path.exists() else {}

    def _save(self, found):
        Path(os.environ["FILE_KEYRING"]).write_text(json.dumps(found))

    def get_password(self, service, username):
        return self._load().get(f"{service}/{username}")

    def set_password(self, service, username, password):
        self._save(self._load() | {f"{service}/{username}": password})

    def delete_password(self, service, username):
        found = self._load()
        del found[f"{service}/{username}"]
        self._save(found)
'''


@contextmanager
def use_file_keyring(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of the keyring, while the context lasts; the environment has no keys."""
    (folder / "backends").mkdir()
    (folder / "backends" / "file_keyring.py").write_text(_BACKEND)
    monkeypatch.syspath_prepend(folder / "backends")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(folder / "backends"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "file_keyring.FileKeyring")
    monkeypatch.setenv("FILE_KEYRING", str(folder / "vault.json"))
    for name in ("MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD", "WANDB_API_KEY"):
        monkeypatch.setenv(name, "to be put back")
        monkeypatch.delenv(name)
    monkeypatch.setattr("keyring.core._keyring_backend", None)  # chosen anew
    yield folder / "vault.json"
    sys.modules.pop("file_keyring", None)
