"""Files of a run folder, besides checkpoints, that hold anything at all."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from tests.reliability.hostile.material import Run
from tests.reliability.hostile.trial import some_pairs

Spoil = Callable[[Run], None]

_TEXTS: dict[str, bytes] = {
    "nothing": b"",
    "a list": b"[1, 2]\n",
    "a number": b"7\n",
    "null": b"null\n",
    "100,000 deep": b"[" * 100_000 + b"\n",
    "500 deep": b'{"kind": "found", "run": ' + b"[" * 500 + b"]" * 500 + b"}\n",
    "invalid UTF-8": b'{"run": "\xff\xfe", "kind": "found", "level": "info", "title": "\xff"}\n',
    "UTF-16": '{"run": "x"}\n'.encode("utf-16"),
    "zero bytes": bytes(10_000),
    "5,000 digits": b'{"run": 1, "step": ' + b"9" * 5000 + b"}\n",
    "one line of 20 MB": b'{"run": "' + b"x" * 20_000_000 + b'"}\n',
    "200,000 lines": b"{}\n" * 200_000,
    "a pickle": b"cos\nsystem\n(S'true'\ntR.",
    "escapes": b"\x1b]0;owned\x07\x1b[2J\xe2\x80\xae\n",
}
_NAMES = (
    "status.json",
    "labels.json",
    "owner.json",
    "commands.jsonl",
    "events.jsonl",
    "data.json",
    "environment.json",
    "packages.json",
    "places.json",
    "profile.json",
    "series.bin",
    "telemetry.bin",
    "splits.safetensors",
)


def _written(name: str, data: bytes) -> Spoil:
    return lambda run: _write(run.path / name, data)


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _status(**changes: Any) -> Spoil:
    def spoil(run: Run) -> None:
        path = run.path / "status.json"
        path.write_text(json.dumps({**json.loads(path.read_text(encoding="utf-8")), **changes}), encoding="utf-8")

    return spoil


def _events(*records: Any) -> Spoil:
    def spoil(run: Run) -> None:
        with (run.path / "events.jsonl").open("a", encoding="utf-8") as stream:
            for record in records:
                stream.write(json.dumps(record) + "\n")

    return spoil


def _in_place_of(name: str, make: Callable[[Run, Path], None]) -> Spoil:
    def spoil(run: Run) -> None:
        path = run.path / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        make(run, path)

    return spoil


def _terabyte(_run: Run, path: Path) -> None:
    with path.open("wb") as stream:
        stream.truncate(1 << 40)


def _labels(name: Any) -> Spoil:
    return lambda run: _write(run.path / "labels.json", json.dumps({"best": name, "last": name}).encode())


def _grown_series(run: Run) -> None:
    """A right header and a hole of a terabyte behind it."""
    os.truncate(run.path / "series.bin", 1 << 40)


def _splits(value: torch.Tensor) -> Spoil:
    return lambda run: save_file({"train": value, "validation": value.clone()}, run.path / "splits.safetensors")


_OF_WRONG_TYPES: tuple[Any, ...] = (
    None,
    True,
    -1,
    10**30,
    1.5,
    float("nan"),
    "\x1b[31m",
    "\ud800",
    [],
    {},
    [[]],
    "x" * 100_000,
)

TEXTS: dict[str, Spoil] = {
    f"{name}: {title}": _written(name, _TEXTS[title]) for name, title in some_pairs(_NAMES, _TEXTS, 3)
}

_LABELED: tuple[Any, ...] = (
    "../../../../../outside",
    "/etc",
    "..",
    "a\0b",
    "step-1",
    "step-" + "9" * 5000,
    7,
    [],
    {},
    None,
    "\x1b[31m",
)
_OWNERS: tuple[Any, ...] = (
    {"pid": "x"},
    {"pid": -1},
    {"pid": 10**30},
    {"pid": float("inf")},
    {"pid": []},
    {"pid": 1, "machine": [], "host": {}},
    {"pid": 1, "born": "\x1b[31m", "since": "\x1b[2J"},
)
_EVENTS = (
    "attempt_started",
    "rewound",
    "validated",
    "epoch_ended",
    "found",
    "data_prepared",
    "phase_changed",
    "completed",
    "failed",
    "checkpoint_saved",
    "step_skipped",
)
_OF_NO_EVENT: tuple[Any, ...] = (None, -1, 10**30, "\x1b[31m", [], {})
_PLANS: tuple[Any, ...] = (
    {"source": "..", "files": [], "keep": False},
    {"source": "../..", "files": [], "keep": True},
    {"source": "steps-1-2", "files": [], "keep": False},
    {"source": "new", "files": [], "keep": False},
    {"source": "new", "files": 5},
    {"source": [], "files": [{}]},
    {"source": "\x1b[31m", "files": ["../../victim.jsonl"]},
    [],
)


def _aside(record: Any, plan: Any = None) -> Spoil:
    """Something set aside, and how an exchange with it would go on."""

    def spoil(run: Run) -> None:
        path = run.path / "set_aside" / "steps-1-2"
        path.mkdir(parents=True)
        (path / "set_aside.json").write_text(json.dumps(record), encoding="utf-8")
        shutil.copyfile(run.path / "status.json", path / "status.json")
        if plan is not None:
            (path / "unfinished.json").write_text(json.dumps(plan), encoding="utf-8")

    return spoil


def _new_state_elsewhere(run: Run) -> None:
    """The state that is to take the present one's place is another run's."""
    _aside({"step": 1, "reached": 2, "time": 1.0}, {"source": "new", "files": ["status.json"], "keep": True})(run)
    (run.path / "set_aside" / "steps-1-2" / "new").symlink_to(run.outside / "runs" / "victim")


RECORDS: dict[str, Spoil] = {
    **{
        f"set aside: steps {value!a:.20}": _aside({"step": value, "reached": 2, "time": 1.0})
        for value in _OF_WRONG_TYPES[::2]
    },
    **{
        f"set aside: times {value!a:.20}": _aside({"step": 1, "reached": 2, "time": value})
        for value in _OF_WRONG_TYPES[1::2]
    },
    **{f"set aside: {plan!a:.50}": _aside({"step": 1, "reached": 2, "time": 1.0}, plan) for plan in _PLANS},
    "set aside: a new state elsewhere": _new_state_elsewhere,
    **{
        f"status: all of them {value!a:.20}": _status(
            **dict.fromkeys(
                (
                    "name",
                    "status",
                    "step",
                    "epoch",
                    "total_steps",
                    "created",
                    "updated",
                    "best",
                    "metrics",
                    "reason",
                    "advice",
                    "parent",
                    "fix",
                    "dataset",
                    "last_checkpoint",
                    "samples_per_second",
                    "skipped_steps",
                ),
                value,
            )
        )
        for value in _OF_WRONG_TYPES
    },
    "status: best of escapes": _status(best={"metric": "\x1b[2J", "value": 1.0, "step": 1, "checkpoint": "\x1b"}),
    "status: metrics of escapes": _status(metrics={"\x1b]0;x\x07": 1.0, "\u202e": 2.0}),
    "status: reason of escapes": _status(reason="\x1b[2J\u202e\r\n", advice="\x07"),
    "status: another run's folder": _status(folder="/", run="../../../outside"),
    "status: created in year 10^300": _status(created=1e300),
    **{f"labels: {name!a:.30}": _labels(name) for name in _LABELED},
    **{f"owner: {record!a:.40}": _written("owner.json", json.dumps(record).encode()) for record in _OWNERS},
    **{
        f"events: {kind} of {value!a:.20}": _events(
            {
                "kind": kind,
                **dict.fromkeys(
                    (
                        "time",
                        "step",
                        "epoch",
                        "attempt",
                        "total_steps",
                        "steps_per_epoch",
                        "epochs",
                        "device",
                        "metrics",
                        "improved",
                        "level",
                        "title",
                        "advice",
                        "fix",
                        "report",
                        "phase",
                        "fraction",
                        "reason",
                        "checkpoint",
                        "samples",
                        "names",
                    ),
                    value,
                ),
            }
        )
        for kind, value in some_pairs(_EVENTS, _OF_NO_EVENT, 3)
    },
    "events: unknown kinds": _events({"kind": "x"}, {"kind": []}, {"kind": {}}, {}, [], 1, None, {"kind": "__class__"}),
    "events: findings of escapes": _events(
        {"kind": "found", "level": "info", "title": "\x1b[2J\u202e", "advice": "\x07"}
    ),
    "commands: of wrong types": _written(
        "commands.jsonl", b'{"command": []}\n{"command": {}}\n[]\n1\n{"command": "rm -rf"}\n'
    ),
    "series: a hole of a terabyte": _grown_series,
    "environment: a billion threads": _written("environment.json", b'{"threads": 1000000000}'),
    "environment: threads of text": _written("environment.json", b'{"threads": "x", "torch": "\\u001b[31m"}'),
    "splits: numbers": _splits(torch.zeros(3)),
    "splits: far outside": _splits(torch.tensor([10**12, -5])),
    "splits: truths": _splits(torch.ones(2, dtype=torch.bool)),
    **{f"{name}: a sparse terabyte": _in_place_of(name, _terabyte) for name in _NAMES[::2]},
    **{f"{name}: a folder": _in_place_of(name, lambda _run, path: path.mkdir()) for name in _NAMES[1::2]},
}

_PLACES: dict[str, Callable[[Run, Path], None]] = {
    "a link outside": lambda run, path: path.symlink_to(run.outside / "victim.jsonl"),
    "a pipe": lambda _run, path: os.mkfifo(path),
    "a device": lambda _run, path: path.symlink_to("/dev/zero"),
    "a link to itself": lambda _run, path: path.symlink_to(path.name),
}
PLACES: dict[str, Spoil] = {
    **{f"{name}: {title}": _in_place_of(name, _PLACES[title]) for name, title in some_pairs(_NAMES, _PLACES, 2)},
    **{
        f"{name}: {title}": _in_place_of(name, _PLACES[title])
        for name, title in (("log.txt", "a pipe"), ("log.txt", "a device"), ("config.toml", "a link outside"))
    },
    "set_aside: a link outside": _in_place_of("set_aside", lambda run, path: path.symlink_to(run.outside)),
    "checkpoints: a link outside": _in_place_of(
        "checkpoints", lambda run, path: path.symlink_to(run.outside / "runs" / "victim" / "checkpoints")
    ),
}
