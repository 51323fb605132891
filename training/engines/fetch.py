"""Files from a package index: each whole and checked, and one that broke off goes on where it was. Standard library only, since the
installed window has no more."""

from __future__ import annotations

import base64
import hashlib
import os
import queue
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.parse import unquote, urlsplit, urlunsplit
from urllib.request import HTTPSHandler, OpenerDirector, ProxyHandler, build_opener, url2pathname
from urllib.request import Request as HttpRequest

from training.errors import Canceled, InputError
from training.system.pip_settings import PipSettings

_SECONDS = 30.0  # without a byte
_CHUNK = 1 << 18
_MOST_PAGE = 1 << 26
_AHEAD = 16  # chunks that are read while the disk writes
_TRIES = 5  # in a row that brought nothing
_REST_SECONDS = 1.0
_AT_ONCE = 6
_LOOK_SECONDS = 0.1
_BUNDLES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem")
IsGivenUp = Callable[[], bool]


@dataclass(frozen=True)
class Wheel:
    """A file to fetch; ``size`` is 0 where the server does not tell, ``sha256`` empty where the index gives none."""

    name: str
    version: str
    url: str
    sha256: str
    size: int = 0

    @property
    def file(self) -> str:
        """Its file name, whatever the address says of folders."""
        return re.split(r"[/\\]", unquote(urlsplit(self.url).path))[-1]


class Fetcher:
    """Fetches over one proxy ("" for those of the environment) with the certificates that pip has."""

    def __init__(self, is_given_up: IsGivenUp, proxy: str = "", settings: PipSettings | None = None) -> None:
        self._is_given_up = is_given_up
        handlers = [ProxyHandler({"http": proxy, "https": proxy})] if proxy else []
        self._opener: OpenerDirector = build_opener(
            *handlers, HTTPSHandler(context=_make_context(settings.certificates if settings else ""))
        )

    def read(self, url: str, accept: str) -> bytes | None:
        """A page, whole; None where there is none. Raises InputError where it cannot be had, Canceled."""
        try:
            response, page = self._open(url, {"Accept": accept}), b""
            for chunk in _read_ahead(response, self._is_given_up):
                page += chunk
                if len(page) > _MOST_PAGE:
                    raise ValueError("it sends too much")
            if len(page) < int(response.headers.get("Content-Length") or 0):
                raise ConnectionError("it broke off")
            return page
        except HTTPError as error:
            error.close()
            if error.code in (404, 410):
                return None
            raise InputError(f"{_host(url)} answers {error.code}.") from error
        except (HTTPException, OSError, ValueError) as error:
            raise InputError(f"{_host(url)} cannot be reached ({explain(error)}).") from error

    def find_sizes(self, wheels: Iterable[Wheel]) -> list[Wheel]:
        """The same with their sizes, as far as they can be known before."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            return list(pool.map(self._find_size, wheels))

    def fetch(self, wheel: Wheel, folder: Path, report: Callable[[int], object]) -> Path:
        """Bring it into ``folder``; ``report(bytes)`` is called with what is there of it by now. A part of it that is there already is not
        fetched again. Raises InputError where it cannot be had, OSError where the disk takes it not, Canceled."""
        path = folder / wheel.file
        if path.is_file():
            report(path.stat().st_size)
            return path
        part = path.with_name(f"{path.name}.part")
        tries, before = 0, -1
        while True:
            here = part.stat().st_size if part.exists() else 0
            tries = 0 if here > before else tries + 1
            before = here
            try:
                if not here or here != wheel.size:
                    self._append(wheel, part, here, report)
                break
            except (HTTPException, TimeoutError, ConnectionError, URLError) as error:
                if isinstance(error, HTTPError) and error.code == 416:  # more is here than there is of it
                    part.unlink()
                elif isinstance(error, HTTPError) and error.code not in (408, 429, 500, 502, 503, 504):
                    raise InputError(f"{_host(wheel.url)} answers {error.code} for {wheel.file}.") from error
                if tries >= _TRIES:
                    raise InputError(
                        f"{_host(wheel.url)} cannot be reached any more ({explain(error)}).",
                        "What was downloaded is kept: install once more to go on there.",
                    ) from error
                self._rest()
        if wheel.sha256 and _digest(part) != wheel.sha256:
            part.unlink()
            raise InputError(f"{wheel.file} came damaged: its SHA-256 is not the index's.", "Install once more.")
        os.replace(part, path)
        return path

    def _append(self, wheel: Wheel, part: Path, here: int, report: Callable[[int], object]) -> None:
        expected = wheel.size
        if urlsplit(wheel.url).scheme == "file":
            here, chunks = 0, _read_file(Path(url2pathname(urlsplit(wheel.url).path)))
        else:
            response = self._open(wheel.url, {"Range": f"bytes={here}-"} if here else {})
            here = here if response.status == 206 else 0  # one that cannot go on where it was begins again
            rest = response.headers.get("Content-Length")
            expected = here + int(rest) if rest else expected
            chunks = _read_ahead(response, self._is_given_up)
        with part.open("ab" if here else "wb") as stream:
            report(here)
            for chunk in chunks:
                self._look()
                here += stream.write(chunk)
                report(here)
        if here < expected:
            raise ConnectionError("it broke off")

    def _open(self, url: str, headers: Mapping[str, str], method: str = "GET") -> HTTPResponse:
        parts = urlsplit(url)
        wanted = {"Accept-Encoding": "identity", **headers}
        if parts.username is not None:
            pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            wanted["Authorization"] = f"Basic {base64.b64encode(pair.encode()).decode()}"
        bare = urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, parts.query, ""))
        # Another thread waits for the server, so that one that says nothing holds nobody up who turns away.
        answers: queue.SimpleQueue[HTTPResponse | Exception] = queue.SimpleQueue()

        def ask() -> None:
            try:
                answers.put(self._opener.open(HttpRequest(bare, headers=wanted, method=method), timeout=_SECONDS))
            except (OSError, HTTPException, ValueError) as error:
                answers.put(error)

        threading.Thread(target=ask, name="package index", daemon=True).start()
        while True:
            self._look()
            with suppress(queue.Empty):
                answer = answers.get(timeout=_LOOK_SECONDS)
                if isinstance(answer, Exception):
                    raise answer
                return answer

    def _find_size(self, wheel: Wheel) -> Wheel:
        parts = urlsplit(wheel.url)
        size = 0
        if parts.scheme == "file":
            with suppress(OSError):
                size = Path(url2pathname(parts.path)).stat().st_size
        else:
            with suppress(OSError, HTTPException, ValueError), self._open(wheel.url, {}, "HEAD") as answer:
                size = int(answer.headers.get("Content-Length") or 0)
        return Wheel(wheel.name, wheel.version, wheel.url, wheel.sha256, size)

    def _look(self) -> None:
        if self._is_given_up():
            raise Canceled("Canceled; what was downloaded is kept.")

    def _rest(self) -> None:
        until = time.monotonic() + _REST_SECONDS
        while time.monotonic() < until:
            self._look()
            time.sleep(_LOOK_SECONDS)


def explain(error: Exception) -> str:
    """Why, in few words."""
    reason = getattr(error, "reason", error)
    return str(getattr(reason, "strerror", None) or reason)


def _host(url: str) -> str:
    return urlsplit(url).netloc.rpartition("@")[2] or url


def _read_file(path: Path) -> Iterator[bytes]:
    with path.open("rb") as stream:
        while chunk := stream.read(_CHUNK):
            yield chunk


def _read_ahead(response: HTTPResponse, is_given_up: IsGivenUp) -> Iterator[bytes]:
    """The content, read by a thread of its own that nobody waits for once it is given up."""
    chunks: queue.Queue[bytes | Exception] = queue.Queue(_AHEAD)
    ended = threading.Event()

    def put(item: bytes | Exception) -> None:
        while not ended.is_set():
            with suppress(queue.Full):
                chunks.put(item, timeout=_LOOK_SECONDS)
                return

    def read() -> None:
        try:
            with response:
                while not ended.is_set():
                    chunk = response.read1(_CHUNK)
                    put(chunk)
                    if not chunk:
                        return
        except (OSError, HTTPException, ValueError) as error:
            put(error)

    threading.Thread(target=read, name="download", daemon=True).start()
    try:
        while not is_given_up():
            try:
                item = chunks.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                continue
            if isinstance(item, Exception):
                raise item
            if not item:
                return
            yield item
        raise Canceled("Canceled; what was downloaded is kept.")
    finally:
        ended.set()


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _make_context(certificates: str) -> ssl.SSLContext:
    wanted = certificates or os.environ.get("SSL_CERT_FILE") or os.environ.get("REQUESTS_CA_BUNDLE")
    if wanted and Path(wanted).is_file():
        return ssl.create_default_context(cafile=wanted)
    context = ssl.create_default_context()
    if not context.cert_store_stats()["x509_ca"]:  # an installed program's OpenSSL looks where it was built
        bundle = next((each for each in _BUNDLES if Path(each).is_file()), None)
        if bundle is not None:
            context.load_verify_locations(bundle)
    return context
