"""Files from the internet, proved against a server of this computer: whole and checked, whatever breaks off."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from filelock import FileLock

from training.data.download import Remote, download, require_room, unpack
from training.data.source import silent
from training.errors import InputError

DATA = bytes(range(256)) * 40


@contextmanager
def serving(data: bytes, gives: int) -> Iterator[tuple[str, list[str]]]:
    """An address that breaks off after ``gives`` bytes, and what was asked of it."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[:gives])

        def log_message(self, format: str, *arguments: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/a.bin", asked
        server.shutdown()
        thread.join()


def remote(*addresses: str, data: bytes = DATA) -> Remote:
    return Remote("a.bin", addresses, f"sha256:{hashlib.sha256(data).hexdigest()}")


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.rglob("*"))


def test_a_file_comes_whole_and_its_progress_is_told(tmp_path: Path) -> None:
    told: list[tuple[str, float | None]] = []
    with serving(DATA, len(DATA)) as (address, asked):
        path = download(remote(address), tmp_path, lambda text, fraction: told.append((text, fraction)))
    assert path.read_bytes() == DATA
    assert len(asked) == 1
    assert files(tmp_path) == ["a.bin"]
    assert told[-1] == ("downloading a.bin: 10.2 kB of 10.2 kB", 1.0)


def test_a_connection_that_breaks_off_leaves_nothing(tmp_path: Path) -> None:
    with serving(DATA, 4000) as (address, _), pytest.raises(InputError, match=r"a\.bin is not in .*4000 bytes read"):
        download(remote(address), tmp_path, silent)
    assert files(tmp_path) == []
    with serving(DATA, 4000) as (broken, _), serving(DATA, len(DATA)) as (whole, _):
        assert download(remote(broken, whole), tmp_path, silent).read_bytes() == DATA


def test_what_a_killed_process_fetched_goes(tmp_path: Path) -> None:
    part = tmp_path / ".download-a.bin" / "made" / "tmp1234"
    part.parent.mkdir(parents=True)
    part.write_bytes(DATA[:6000])
    with serving(DATA, len(DATA)) as (address, _):
        assert download(remote(address), tmp_path, silent).read_bytes() == DATA
    assert files(tmp_path) == ["a.bin"]


def test_another_file_than_published_is_not_kept(tmp_path: Path) -> None:
    with (
        serving(DATA[::-1], len(DATA)) as (address, asked),
        pytest.raises(InputError, match="gives another file than it should"),
    ):
        download(remote(address), tmp_path, silent)
    assert (len(asked), files(tmp_path)) == (1, [])


def test_two_runs_do_not_fetch_into_one_file(tmp_path: Path) -> None:
    (tmp_path / ".download-a.bin").mkdir()
    with (
        FileLock(tmp_path / ".download-a.bin" / "lock"),
        pytest.raises(InputError, match=r"a\.bin is being downloaded into .* by another run"),
    ):
        download(remote("http://127.0.0.1:9/"), tmp_path, silent)


def test_a_disk_without_room_is_told_before_anything_is_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda place: SimpleNamespace(free=5000))
    with (
        serving(DATA, len(DATA)) as (address, _),
        pytest.raises(InputError, match=r"a\.bin takes 10.2 kB, but there is room for 5 kB only"),
    ):
        download(remote(address), tmp_path, silent)
    assert files(tmp_path) == []
    with pytest.raises(InputError, match="Food101 takes 10 GB"):
        require_room(tmp_path / "not" / "there", 10**10, "Food101")


def tar(*members: tuple[str, bytes | None]) -> bytes:
    """Files; those without content are links."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as bundle:
        for name, data in members:
            entry = tarfile.TarInfo(name)
            if data is None:
                entry.type, entry.linkname = tarfile.SYMTYPE, "/etc/passwd"
            else:
                entry.size = len(data)
            bundle.addfile(entry, io.BytesIO(data or b""))
    return stream.getvalue()


def test_archives_of_one_set_are_unpacked_beside_each_other(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(tar(("set/lists/train.txt", b"1"), ("set/pictures/1.jpg", b"one")))
    (tmp_path / "b.tar").write_bytes(tar(("set/lists/test.txt", b"2"), ("set/pictures/2.jpg", b"two"), ("set/x", None)))
    unpack(tmp_path / "a.tar", tmp_path, silent, "set/lists/train.txt")
    unpack(tmp_path / "b.tar", tmp_path, silent, "set/lists/test.txt")
    found = sorted(path.relative_to(tmp_path / "set").as_posix() for path in (tmp_path / "set").rglob("*.*"))
    assert found == ["lists/test.txt", "lists/train.txt", "pictures/1.jpg", "pictures/2.jpg"]
    assert not (tmp_path / "set" / "x").is_symlink()


def test_what_tells_that_all_is_there_comes_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed after any of the moves, the set is not taken for whole."""
    members = (
        ("set/lists/train.txt", b"1"),
        ("set/pictures/1.jpg", b"one"),
        ("notes/a.txt", b"a"),
        ("zzz/b.txt", b"b"),
    )
    (tmp_path / "a.tar").write_bytes(tar(*members))
    (tmp_path / "set" / "lists").mkdir(parents=True)  # so that single files are moved
    moved: list[str] = []
    replace = Path.replace

    def moving(self: Path, target: Path) -> Path:
        moved.append(self.name)
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", moving)
    unpack(tmp_path / "a.tar", tmp_path, silent, "set/lists/train.txt")
    assert moved == ["notes", "zzz", "pictures", "train.txt"]


def test_an_archive_without_what_it_is_for_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as packed:
        packed.writestr("other/a.txt", "a")
    with pytest.raises(InputError, match=r"a\.zip cannot be unpacked \(there is no set/train in it\)"):
        unpack(tmp_path / "a.zip", tmp_path, silent, "set/train")
    assert files(tmp_path) == ["a.zip"]


def test_what_a_killed_process_left_of_an_archive_is_no_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(tar(("set/1.jpg", b"one")))
    (tmp_path / ".unpack-a.tar" / "made" / "set").mkdir(parents=True)
    (tmp_path / ".unpack-a.tar" / "made" / "set" / "torn.jpg").write_bytes(b"o")
    unpack(tmp_path / "a.tar", tmp_path, silent, "set")
    assert files(tmp_path) == ["1.jpg", "a.tar", "set"]
