"""Training states (``state.pt``) that want to be more than numbers. All of them carry right digests and a right seal."""

from __future__ import annotations

import os
import pickle
import struct
import zipfile
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import torch

from tests.reliability.hostile.material import (
    Payload,
    Run,
    archive,
    payloads,
    saved,
    state_members,
    storage_pickle,
    with_pickle,
    zip_bomb,
)

Spoil = Callable[[Run], None]
WAYS = ("os.system", "eval", "exec", "open", "subprocess", "torch.load", "shutil.rmtree", "bytearray")


def _state(make: Callable[[Run], bytes]) -> Spoil:
    """``make`` gives the file's bytes."""

    def spoil(run: Run) -> None:
        data = make(run)
        run.state.write_bytes(data)
        run.reseal()

    return spoil


def _changed(change: Callable[[dict[str, Any]], Any]) -> Spoil:
    """The good state after ``change``, saved as torch saves it."""

    def make(run: Run) -> bytes:
        state = run.good_state()
        result = change(state)
        return saved(state if result is None else result)

    return _state(make)


def _pickled(data: bytes) -> Spoil:
    """The good archive with another pickle inside."""
    return _state(lambda run: with_pickle(run.state, data))


def _file(replace: Callable[[Run], None]) -> Spoil:
    """Something else than an ordinary file in its place."""

    def spoil(run: Run) -> None:
        run.reseal()
        run.state.unlink()
        replace(run)

    return spoil


def _executing() -> dict[str, Spoil]:
    made: dict[str, Spoil] = {}
    for way in ("os.system", "eval"):
        made[f"pickle that calls {way}"] = _state(lambda run, way=way: pickle.dumps(payloads(run.sentinel)[way]))  # type: ignore[misc]
        made[f"torch.save of {way}"] = _state(lambda run, way=way: saved(payloads(run.sentinel)[way]))  # type: ignore[misc]
    for way in WAYS:
        made[f"good state with {way} inside"] = _state(
            lambda run, way=way: saved(run.good_state() | {"extra": payloads(run.sentinel)[way]})  # type: ignore[misc]
        )
    for protocol in (0, 2, 5):
        made[f"archive with a pickle of protocol {protocol}"] = _state(
            lambda run, protocol=protocol: with_pickle(  # type: ignore[misc]
                run.state, pickle.dumps(payloads(run.sentinel)["open"], protocol=protocol)
            )
        )
    return made


def _storage(*identity: Any, **tensor: Any) -> Spoil:
    return _pickled(storage_pickle(identity, **tensor))


def _set(section: str, name: str, value: Any) -> Spoil:
    return _changed(lambda state: state[section].__setitem__(name, value))


def _first_numbers(state: dict[str, Any]) -> dict[str, Any]:
    numbers: dict[str, Any] = state["optimizer"]["state"][0]
    return numbers


def _doubled() -> bytes:
    """Fifty lists, each holding the one before twice: a few hundred bytes that copy to 2 ** 50 lists."""
    body = b"\x80\x02]q\x00" + b"".join(
        b"]r" + struct.pack("<I", i + 1) + b"(j" + struct.pack("<I", i) + b"j" + struct.pack("<I", i) + b"e"
        for i in range(50)
    )
    return body + b"."


def _deflated(run: Run) -> bytes:
    return archive(state_members(run.state), zipfile.ZIP_DEFLATED)


def _member(name: str, data: bytes = b"x") -> Spoil:
    return _state(lambda run: archive(state_members(run.state) | {name: data}))


def _shared(state: dict[str, Any]) -> None:
    big = torch.zeros(100_000)
    state["copies"] = [big] * 100_000


def _contains_itself(_state: dict[str, Any]) -> Any:
    endless: list[Any] = []
    endless.append(endless)
    return endless


def _without_bounds(run: Run) -> None:
    with run.state.open("wb") as stream:
        stream.truncate(1 << 40)


DAMAGED = ("a device", "a link to another file", "a pipe", "a folder", "missing", "a sparse terabyte")

STATES: dict[str, Spoil] = {
    **_executing(),
    "storage of 10^15 numbers": _storage("storage", torch.FloatStorage, "0", "cpu", 10**15),
    "storage larger than its record": _storage("storage", torch.FloatStorage, "0", "cpu", 1 << 20, shape=(1 << 20,)),
    "storage of minus one": _storage("storage", torch.FloatStorage, "0", "cpu", -1),
    "storage outside the archive": _storage("storage", torch.FloatStorage, "../../../../etc/passwd", "cpu", 4),
    "storage on a device of its own": _storage("storage", torch.FloatStorage, "0", "cuda:99", 4),
    "storage on meta": _storage("storage", torch.FloatStorage, "0", "meta", 4),
    "storage of no kind": _storage("storage", int, "0", "cpu", 4),
    "another persistent id": _storage("module", "os", "system"),
    "persistent id of text": _pickled(storage_pickle("storage")),
    "tensor beyond its storage": _storage("storage", torch.FloatStorage, "0", "cpu", 1, shape=(10**9,)),
    "tensor of 10^15 over one number": _storage(
        "storage", torch.FloatStorage, "0", "cpu", 1, shape=(10**15,), stride=(0,)
    ),
    "tensor before its storage": _storage("storage", torch.FloatStorage, "0", "cpu", 1, offset=-(10**6)),
    "new opcodes": _pickled(b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x02id\x85R."),
    "opcode INST": _pickled(b"(S'id'\nios\nsystem\n."),
    "opcode OBJ": _pickled(b"(cos\nsystem\nS'id'\no."),
    "opcode EXT": _pickled(b"\x80\x02\x82\x01."),
    "opcode BUILD": _pickled(b"\x80\x02ccollections\nOrderedDict\n)R}X\x01\x00\x00\x00aK\x01sb."),
    "text of 2^60": _pickled(b"\x80\x04\x8d" + struct.pack("<Q", 1 << 60) + b"x."),
    "number of 2^31 digits": _pickled(b"\x80\x02\x8b" + struct.pack("<i", (1 << 31) - 1) + b"x."),
    "memo of 2^32": _pickled(b"\x80\x02}r\xff\xff\xff\xff."),
    "100,000 lists inside each other": _pickled(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b"."),
    "twice the same, fifty times": _pickled(_doubled()),
    "a list inside itself": _changed(_contains_itself),
    "one tensor 100,000 times": _changed(_shared),
    "endless pickle": _pickled(b"\x80\x02" + b"K\x01" * 1_000_000),
    "empty pickle": _pickled(b""),
    "cut pickle": _state(lambda run: run.state.read_bytes()[:-100]),
    "compressed members": _state(_deflated),
    "bomb of 4 GB": _state(lambda run: zip_bomb("archive/data.pkl", 4_000_000_000)),
    "member outside": _member("../../../../outside/EXECUTED"),
    "member with an absolute name": _member("/tmp/EXECUTED"),
    "member of another folder": _member("other/data.pkl"),
    "TorchScript": _member("archive/constants.pkl"),
    "comment behind the archive": _state(lambda run: archive(state_members(run.state), comment=b"PK\5\6" + bytes(18))),
    "empty archive": _state(lambda run: archive({})),
    "empty file": _state(lambda run: b""),
    "random bytes": _state(lambda run: bytes(i * 31 % 256 for i in range(10_000))),
    "text": _state(lambda run: b"hello\n"),
    "tar": _state(lambda run: bytes(257) + b"ustar\x00" + bytes(2000)),
    "a list": _changed(lambda state: [1, 2]),
    "a number": _changed(lambda state: 7),
    "nothing": _changed(lambda state: {}),
    "an ordered dict of attributes": _changed(lambda state: OrderedDict(a=Payload(complex, 1))),
    "a sparse tensor": _changed(lambda state: state | {"x": torch.eye(3).to_sparse()}),
    "a parameter": _changed(lambda state: state | {"x": torch.nn.Parameter(torch.ones(2))}),
    "a set": _changed(lambda state: state | {"x": {1, 2}}),
    "keys that are tuples": _changed(lambda state: state | {(1, 2): 3}),
    "step of text": _set("progress", "step", "\x1b[31m"),
    "step of 10^15": _set("progress", "step", 10**15),
    "step minus one": _set("progress", "step", -1),
    "step true": _set("progress", "step", True),
    "step that is NaN": _set("progress", "step", float("nan")),
    "window of 10^15": _set("progress", "window", 10**15),
    "epoch of text": _set("progress", "epoch", "1"),
    "progress with more": _set("progress", "__class__", 1),
    "no progress": _changed(lambda state: state.pop("progress") and None),
    "no optimizer": _changed(lambda state: state.pop("optimizer") and None),
    "no generators": _changed(lambda state: state.pop("rng") and None),
    "generators of text": _set("rng", "cpu", "x"),
    "generators of one byte": _set("rng", "cpu", torch.zeros(1, dtype=torch.uint8)),
    "generators of numbers": _set("rng", "cpu", torch.zeros(5056)),
    "optimizer without groups": _set("optimizer", "param_groups", []),
    "optimizer with groups of text": _set("optimizer", "param_groups", "x"),
    "optimizer with parameters of others": _changed(
        lambda state: state["optimizer"]["param_groups"][0].__setitem__("params", [10**9])
    ),
    "optimizer state that is a list": _set("optimizer", "state", []),
    "optimizer state of another shape": _changed(
        lambda state: _first_numbers(state).__setitem__("exp_avg", torch.zeros(3))
    ),
    "optimizer state that lacks an entry": _changed(lambda state: _first_numbers(state).__delitem__("exp_avg_sq")),
    "optimizer state that lacks a weight": _changed(lambda state: state["optimizer"]["state"].pop(0) and None),
    "optimizer state of text": _changed(lambda state: _first_numbers(state).__setitem__("exp_avg", "x")),
    "a device": _file(lambda run: run.state.symlink_to("/dev/zero")),
    "a link to another file": _file(lambda run: run.state.symlink_to(run.outside / "victim.txt")),
    "a pipe": _file(lambda run: os.mkfifo(run.state)),
    "a folder": _file(lambda run: run.state.mkdir()),
    "missing": _file(lambda run: None),
    "a sparse terabyte": _file(_without_bounds),
}
