"""Weights and manifests of checkpoints that lie, with right digests and a right seal wherever one can be had."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file

from tests.reliability.hostile.material import Run, safetensors
from training.runs.records.manifest import seal

Spoil = Callable[[Run], None]


def _weights(data: bytes) -> Spoil:
    def spoil(run: Run) -> None:
        for path in run.checkpoint.glob("*.safetensors"):
            path.write_bytes(data)
        run.reseal()

    return spoil


def _tensors(change: Callable[[dict[str, torch.Tensor]], Any]) -> Spoil:
    """The good weights after ``change``."""

    def spoil(run: Run) -> None:
        for path in run.checkpoint.glob("*.safetensors"):
            tensors = {name: tensor.clone() for name, tensor in load_file(path).items()}
            change(tensors)
            save_file(tensors, path)
        run.reseal()

    return spoil


def _all(convert: Callable[[torch.Tensor], torch.Tensor]) -> Spoil:
    return _tensors(lambda tensors: tensors.update({name: convert(tensor) for name, tensor in tensors.items()}))


def _entry(dtype: Any = "F32", shape: Any = (2,), offsets: Any = (0, 8)) -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape, "data_offsets": offsets}


WEIGHTS: dict[str, Spoil] = {
    "header of 10^9": _weights(safetensors({}, length=10**9)),
    "header of 2^63": _weights(safetensors({}, length=1 << 63)),
    "header of 2^64 - 1": _weights(safetensors({}, length=(1 << 64) - 1)),
    "header longer than the file": _weights(safetensors({"a": _entry()}, bytes(8), length=5000)),
    "header of nothing": _weights(safetensors(b"")),
    "header that is no JSON": _weights(safetensors(b"{" * 1000)),
    "header of invalid UTF-8": _weights(safetensors(b'{"\xff\xfe": 1}')),
    "header 100,000 deep": _weights(safetensors(b'{"a":' + b"[" * 100_000)),
    "header that is a list": _weights(safetensors([1, 2])),
    "header of 20 MB": _weights(safetensors(b'{"__metadata__": {"a": "' + b"x" * 20_000_000 + b'"}}')),
    "no tensor at all": _weights(safetensors({})),
    "offsets beyond the file": _weights(safetensors({"a": _entry(offsets=(0, 1 << 40), shape=(1 << 38,))}, bytes(8))),
    "offsets that overlap": _weights(safetensors({"a": _entry(), "b": _entry(offsets=(4, 12))}, bytes(12))),
    "offsets with a hole": _weights(safetensors({"a": _entry(), "b": _entry(offsets=(16, 24))}, bytes(24))),
    "offsets backwards": _weights(safetensors({"a": _entry(offsets=(8, 0))}, bytes(8))),
    "offsets below zero": _weights(safetensors({"a": _entry(offsets=(-8, 0))}, bytes(8))),
    "offsets of text": _weights(safetensors({"a": _entry(offsets=("0", "8"))}, bytes(8))),
    "shape of 2^62": _weights(safetensors({"a": _entry(shape=(1 << 62, 8))}, bytes(8))),
    "shape below zero": _weights(safetensors({"a": _entry(shape=(-2,))}, bytes(8))),
    "shape of a million ones": _weights(safetensors({"a": _entry(shape=(1,) * 1_000_000, offsets=(0, 4))}, bytes(4))),
    "dtype that is none": _weights(safetensors({"a": _entry(dtype="OBJECT")}, bytes(8))),
    "dtype of escapes": _weights(safetensors({"a": _entry(dtype="\x1b[31m")}, bytes(8))),
    "names of escapes": _weights(safetensors({"\x1b[31m\u202e\n": _entry()}, bytes(8))),
    "name of a megabyte": _weights(safetensors({"n" * 1_000_000: _entry()}, bytes(8))),
    "10,000 names": _weights(safetensors({f"n{i}": _entry(shape=(0,), offsets=(0, 0)) for i in range(10_000)})),
    "bytes behind the end": _weights(safetensors({"a": _entry()}, bytes(80))),
    "a pickle": _weights(b"cos\nsystem\n(S'true'\ntR."),
    "empty file": _weights(b""),
    "seven bytes": _weights(b"1234567"),
    "zeros": _weights(bytes(10_000)),
    "double precision": _all(lambda tensor: tensor.double()),
    "complex numbers": _all(lambda tensor: tensor.to(torch.complex64)),
    "whole numbers": _all(lambda tensor: tensor.long()),
    "truths": _all(lambda tensor: tensor.bool()),
    "eight bits": _all(lambda tensor: tensor.to(torch.float8_e4m3fn)),
    "other shapes": _all(lambda tensor: tensor.flatten()[:1]),
    "one tensor less": _tensors(lambda tensors: tensors.pop(next(iter(tensors)))),
    "one tensor more": _tensors(lambda tensors: tensors.update({"__class__": torch.ones(1)})),
}

# ------------------------------------------------------------------------------------------- manifests


def _sealed(**changes: Any) -> Spoil:
    return lambda run: run.reseal(**changes)


def _raw(data: str | bytes) -> Spoil:
    return lambda run: run.write_manifest(data)


def _data(**changes: Any) -> Spoil:
    return lambda run: run.reseal(data={**run.manifest()["data"], **changes})


def _config(section: str, **changes: Any) -> Spoil:
    def spoil(run: Run) -> None:
        config = run.manifest()["config"]
        config[section] = {**config[section], **changes} if isinstance(config.get(section), dict) else changes["value"]
        run.reseal(config=config)

    return spoil


def _files(name: str, facts: Any = None) -> Spoil:
    given: Any = {"bytes": 9, "sha256": "0" * 64} if facts is None else facts
    return lambda run: run.write_manifest(seal({**_unsealed(run), "files": {**run.manifest()["files"], name: given}}))


def _unsealed(run: Run) -> dict[str, Any]:
    return {key: value for key, value in run.manifest().items() if key != "seal"}


def _text(change: Callable[[str], str]) -> Spoil:
    """The manifest's text after ``change``: what Python's json module would not write."""
    return lambda run: run.write_manifest(change(json.dumps(run.manifest())))


def _replaced(make: Callable[[Path], None]) -> Spoil:
    def spoil(run: Run) -> None:
        path = run.checkpoint / "manifest.json"
        path.unlink()
        make(path)

    return spoil


def _without(name: str) -> Spoil:
    return lambda run: run.write_manifest(seal({key: value for key, value in _unsealed(run).items() if key != name}))


def _terabyte(path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(1 << 40)


def _hundred_megabytes(path: Path) -> None:
    path.write_bytes(b'{"a": "' + b"x" * 100_000_000 + b'"}')


_OUTSIDE = (
    "../../../../../outside/victim.txt",
    "/etc/passwd",
    "..",
    ".",
    "",
    "a/b",
    "a\0b",
    "C:\\x",
    "a\nb",
    "\x1b[31m",
    "n" * 5000,
)

MANIFESTS: dict[str, Spoil] = {
    **{f"file named {name[:30]!a}": _files(name) for name in _OUTSIDE},
    "file without facts": _files("model.safetensors", []),
    "file of minus one byte": _files("model.safetensors", {"bytes": -1, "sha256": ""}),
    "file of 10^30 bytes": _files("model.safetensors", {"bytes": 10**30, "sha256": ""}),
    "file whose digest is a list": _files("model.safetensors", {"bytes": 1, "sha256": []}),
    "files that are a list": _sealed(format=1)
    if False
    else (lambda run: run.write_manifest(seal({**_unsealed(run), "files": ["x"]}))),
    **{
        f"step {value!r:.20}": _sealed(step=value)
        for value in (10**30, 10**300, -1, 1.5, True, None, "4", [4], float("nan"), float("inf"), 1 << 53, 3)
    },
    "epoch of text": _sealed(epoch="\x1b[31m"),
    "time of 1e300": _sealed(time=1e300),
    "time of text": _sealed(time="now"),
    "metrics of text": _sealed(metrics={"val/loss": "low"}),
    "metrics that are a list": _sealed(metrics=[1]),
    "metrics of 10^400": _sealed(metrics={"val/loss": 10**400}),
    "format of another time": _sealed(format=2),
    "format of escapes": _sealed(format="\x1b[2J\u202e" * 500),
    "no configuration": _without("config"),
    "no data": _without("data"),
    "configuration that is a list": _sealed(config=[1]),
    "data that is text": _sealed(data="x"),
    "configuration of unknown keys": _config("model", __class__="x"),
    "configuration of another model": _config("model", hidden=[5]),
    "configuration of a huge model": _config("model", hidden=[65536] * 64),
    "configuration with a network of code": _config(
        "model", kind="torchvision", name="resnet18);__import__('os').system('true'"
    ),
    "fingerprint of another dataset": _data(fingerprint="0" * 64),
    "fingerprint that is a list": _data(fingerprint=[]),
    "seal of nothing": _text(lambda text: text.replace('"seal": "', '"seal": "0')),
    "seal that is a number": lambda run: run.write_manifest({**_unsealed(run), "seal": 7}),
    "100,000 deep": _raw("[" * 100_000),
    "100,000 deep tables": _raw('{"a":' * 100_000),
    "500 deep, sealed": lambda run: run.write_manifest(
        json.dumps(seal({**_unsealed(run), "x": json.loads("[" * 500 + "]" * 500)}))
    ),
    "5,000 digits": _text(lambda text: text.replace('"step": ', '"step": ' + "9" * 5000)),
    "1e400": _text(lambda text: text.replace('"epoch": ', '"epoch": 1e400, "was": ')),
    "the same key twice": _text(lambda text: text.replace('"step": ', '"step": 7, "step": '))
    if False
    else _text(lambda text: '{"format": 1, "format": 2, ' + text[1:].replace('"format": 1', '"format": 3')),
    "half a character": _raw('{"format": "\\ud800"}'),
    "invalid UTF-8": _raw(b'{"format": "\xff"}'),
    "UTF-16": _raw('{"format": 1}'.encode("utf-16")),
    "zero bytes": _raw(bytes(1000)),
    "empty": _raw(""),
    "a list": _raw("[1, 2]"),
    "a number": _raw("1"),
    "a pickle": _raw(b"cos\nsystem\n(S'true'\ntR."),
    "a pipe": _replaced(lambda path: os.mkfifo(path)),
    "a device": _replaced(lambda path: path.symlink_to("/dev/zero")),
    "a link to itself": _replaced(lambda path: path.symlink_to("manifest.json")),
    "a folder": _replaced(lambda path: path.mkdir()),
    "100 MB": _replaced(_hundred_megabytes),
    "a sparse terabyte": _replaced(_terabyte),
}

EXPORTED: dict[str, Spoil] = {
    "shape of 10^9 in each direction": _data(shape=[10**9, 10**9, 10**9]),
    "shape of 10^12 numbers": _data(shape=[10**12]),
    "shape below zero": _data(shape=[-2]),
    "shape of nothing": _data(shape=[]),
    "shape of text": _data(shape="12"),
    "shape of infinity": _data(shape=[float("inf")]),
    "layout of escapes": _data(layout="\x1b[31m"),
    "layout of images": _data(layout="image"),
    "mean of NaN": _data(mean=[float("nan")] * 2),
    "mean of text": _data(mean="ab"),
    "mean of one": _data(mean=[0.0]),
    "deviation of zero": _data(std=[0.0, 0.0]),
    "deviation of infinity": _data(std=[float("inf")] * 2),
    "deviation that is a table": _data(std={}),
    "no classes": _data(names=[]),
    "ten million classes": _data(names=["a"] * 1_000_000),
    "classes of text": _data(names="abc"),
    "classes of numbers": _data(names=[1, 2, 3]),
    "classes of halves of characters": _data(names=["\ud800", "b", "c"]),
    "counts of text": _data(counts=["a", "b", "c"]),
    "counts that are a number": _data(counts=7),
    "samples of text": _data(samples="many"),
    "features of numbers": _data(columns=[1, 2]),
    "categories below nothing": _data(categories=[-1, 0]),
    "codes of numbers": _data(codes=[[1], [2]]),
    "a target nobody knows": _data(target="__import__('os')"),
    "merges of numbers": _data(merges=[1, 2]),
    "one class more": _data(names=["a", "b", "c", "d"]),
    "a huge model": _config("model", hidden=[65536] * 64),
    "a network of code": _config("model", kind="torchvision", name="resnet18);__import__('os').system('true'"),
    "threads of text": _sealed(threads="__import__('os')"),
    "threads of 10^30": _sealed(threads=10**30),
    "seed of text": lambda run: run.reseal(config={**run.manifest()["config"], "seed": "x"}),
    "shape of numpy": _data(shape=[np.iinfo(np.int64).max]),
}
