"""Object storage that speaks S3. Large files go in parts; those that are there after a kill are not sent again.

A file is compared by the SHA-256 that the store keeps (of a file in parts that is the SHA-256 of the parts' SHA-256s), or, where
the store keeps none, by reading it back.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from aiohttp import ClientError as ConnectionFault
from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError, PartialCredentialsError

from training.copies.settings import KEYS
from training.copies.source import BLOCK, Source
from training.copies.store import Missing, Store
from training.errors import TrainingError
from training.sidecars.faults import Away, Refused
from training.sidecars.keys import provide_keys

_MOST_PARTS: Final = 10_000
_AT_ONCE: Final = 4  # parts on their way
_BAD_KEYS: Final = frozenset(
    {
        "InvalidAccessKeyId",
        "SignatureDoesNotMatch",
        "ExpiredToken",
        "InvalidToken",
        "InvalidSecurity",
        "InvalidClientTokenId",
    }
)
_NO_RIGHTS: Final = frozenset({"AccessDenied", "AllAccessDisabled", "AccountProblem", "403", "Forbidden"})
_WAY_TO_KEYS: Final = "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write ~/.aws/credentials"


@dataclass(frozen=True)
class Part:
    """A stretch of a file; ``number`` counts from 1."""

    number: int
    start: int
    size: int
    sha256: bytes

    @cached_property
    def checksum(self) -> str:
        """As S3 writes it."""
        return base64.b64encode(self.sha256).decode()


OPTIONS: Final[Mapping[str, Any]] = {
    "skip_instance_cache": True,
    "config_kwargs": {"retries": {"total_max_attempts": 1}, "connect_timeout": 10, "read_timeout": 60},
}
"""Of the file system, which tries again by itself."""


def provide_s3_keys() -> None:
    """Take them from the keyring where they are not in the environment; otherwise they are looked for where Amazon's own tools do."""
    provide_keys([KEYS])


class Bucket(Store):
    """A folder of a bucket."""

    faults = (OSError, BotoCoreError, ClientError, ConnectionFault)

    def check(self) -> None:
        """Ask for anything: the answer says what is wrong with a bucket or a key, which that to HEAD does not."""
        self._call("list_objects_v2", **self._list_below(""), MaxKeys=1)

    def _list_below(self, key: str) -> dict[str, str]:
        where = self._split(key)
        return {"Bucket": where["Bucket"], "Prefix": where["Key"]}

    def _split(self, key: str) -> dict[str, str]:
        bucket, _, path = self._path(key).partition("/")
        return {"Bucket": bucket, "Key": path}

    def _call(self, name: str, **arguments: Any) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self._ask(lambda: self._files.call_s3(name, **arguments))
        return found

    def send(self, key: str, source: Source) -> None:
        """As a whole, or in parts."""
        parts = _measure(source)
        if self._holds_parts(key, source, parts):
            return
        if len(parts) == 1:
            self._call(
                "put_object",
                **self._split(key),
                Body=source.read_block(0, parts[0].size),
                ChecksumSHA256=parts[0].checksum,
            )
        else:
            self._send_parts(key, source, parts)
        if not self._holds_parts(key, source, parts):
            raise Away(f"{self.address}/{key}: what arrived does not match its digest; it is sent again.")

    def _holds_parts(self, key: str, source: Source, parts: list[Part]) -> bool:
        head = self._head(key)
        if head.get("ContentLength") != source.facts.bytes:
            return False
        kept = head.get("ChecksumSHA256")
        if not kept:
            return self._holds(key, source)
        whole = parts[0].sha256 if len(parts) == 1 else hashlib.sha256(b"".join(part.sha256 for part in parts)).digest()
        return str(kept).partition("-")[0] == base64.b64encode(whole).decode()

    def _size(self, key: str) -> int:
        return int(self._head(key).get("ContentLength", -1))

    def _head(self, key: str) -> Mapping[str, Any]:
        """What the store says of a file; nothing where there is none."""
        try:
            return self._call("head_object", **self._split(key), ChecksumMode="ENABLED")
        except Missing:
            return {}

    def _send_parts(self, key: str, source: Source, parts: list[Part]) -> None:
        where = self._split(key)
        upload, there = self._take_up(key)
        if not upload:
            upload = self._call("create_multipart_upload", **where, ChecksumAlgorithm="SHA256")["UploadId"]
        tags = {part.number: tag for part in parts if (tag := _find_equal(source, part, there.get(part.number)))}

        def send(part: Part) -> None:
            body = source.read_block(part.start, part.size)
            sent = self._call(
                "upload_part", **where, UploadId=upload, PartNumber=part.number, Body=body, ChecksumSHA256=part.checksum
            )
            tags[part.number] = sent["ETag"]

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            sending = [pool.submit(send, part) for part in parts if part.number not in tags]
            try:
                for each in sending:
                    each.result()
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        listed = [
            {"PartNumber": part.number, "ETag": tags[part.number], "ChecksumSHA256": part.checksum} for part in parts
        ]
        self._call("complete_multipart_upload", **where, UploadId=upload, MultipartUpload={"Parts": listed})

    def _take_up(self, key: str) -> tuple[str, dict[int, Mapping[str, Any]]]:
        """The newest upload of ``key`` that was cut short, "" where there is none, and its parts by their numbers; others are
        dropped."""
        begun = [each for each in self._list_uploads(key) if each["Key"] == self._split(key)["Key"]]
        begun.sort(key=lambda each: each["Initiated"])
        for each in begun[:-1]:
            self._abort(each)
        if not begun:
            return "", {}
        parts: dict[int, Mapping[str, Any]] = {}
        more: dict[str, Any] = {}
        while True:
            page = self._call("list_parts", **self._split(key), UploadId=begun[-1]["UploadId"], **more)
            parts |= {part["PartNumber"]: part for part in page.get("Parts", ())}
            if not page.get("IsTruncated"):
                return begun[-1]["UploadId"], parts
            more = {"PartNumberMarker": page["NextPartNumberMarker"]}

    def _list_uploads(self, key: str) -> Iterator[Mapping[str, Any]]:
        page = self._call("list_multipart_uploads", **self._list_below(key))
        yield from page.get("Uploads", ())

    def _abort(self, upload: Mapping[str, Any]) -> None:
        bucket = self._split("")["Bucket"]
        self._call("abort_multipart_upload", Bucket=bucket, Key=upload["Key"], UploadId=upload["UploadId"])

    def replace(self, key: str, content: bytes) -> None:
        """An object appears at once and whole."""
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        self._call("put_object", **self._split(key), Body=content, ChecksumSHA256=digest)

    def remove(self, keys: Any) -> None:
        """One by one: not every store knows how to delete many at once."""
        for key in keys:
            self._call("delete_object", **self._split(key))

    def drop_leftovers(self) -> None:
        """Parts of uploads that were cut short: nobody sees them, and they are paid for."""
        for upload in self._list_uploads(""):
            self._abort(upload)

    def explain(self, error: Exception) -> TrainingError:
        """By the code that S3 gave."""
        cause = error if isinstance(error, ClientError) else error.__cause__
        answer = cause.response.get("Error", {}) if isinstance(cause, ClientError) else {}
        code, words = str(answer.get("Code", "")), str(answer.get("Message", "") or error)
        if isinstance(error, NoCredentialsError | PartialCredentialsError):
            return Refused(f"{self.address}: no key was found; {_WAY_TO_KEYS}.")
        if code in _BAD_KEYS:
            return Refused(f"{self.address}: the key is refused ({code}); {_WAY_TO_KEYS}.")
        if code in _NO_RIGHTS or isinstance(error, PermissionError):
            return Refused(
                f"{self.address}: this key may not do that ({words}); allow it to list the bucket and its uploads, and to read, "
                "write and delete below that address."
            )
        if code == "NoSuchBucket":
            bucket = self._split("")["Bucket"]
            return Refused(f"{self.address}: there is no bucket {bucket}; make it, or correct the address.")
        if isinstance(error, FileNotFoundError):
            return Missing(f"{self.address}: something of the copy is not there ({words}).")
        return Away(
            f"{self.address}: cannot be reached ({words.splitlines()[0][:200] if words else type(error).__name__})."
        )


def _measure(source: Source) -> list[Part]:
    """The parts in which ``source`` is sent. Raises Changed where it is not what its facts say."""
    blocks = max(1, -(-source.facts.bytes // (BLOCK * _MOST_PARTS)))  # that make a part
    parts: list[Part] = []
    known, start, size = hashlib.sha256(), 0, 0
    for number, block in enumerate(source.read_blocks(), 1):
        known.update(block)
        size += len(block)
        if number % blocks == 0:
            parts.append(Part(len(parts) + 1, start, size, known.digest()))
            known, start, size = hashlib.sha256(), start + size, 0
    if size or not parts:
        parts.append(Part(len(parts) + 1, start, size, known.digest()))
    return parts


def _find_equal(source: Source, part: Part, there: Mapping[str, Any] | None) -> str:
    """The tag of what is there of ``part``; "" where that is nothing, or something else."""
    if there is None or there["Size"] != part.size:
        return ""
    tag = str(there["ETag"])
    if kept := there.get("ChecksumSHA256"):
        return tag if kept == part.checksum else ""
    md5 = hashlib.md5(source.read_block(part.start, part.size), usedforsecurity=False).hexdigest()
    return tag if tag.strip('"') == md5 else ""
