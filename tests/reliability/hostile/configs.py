"""Configuration files that nobody should have to meet, each with its name."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.reliability.hostile.trial import some_pairs

Make = Callable[[Path], None]

ORDINARY = 'name = "hostile"\n[dataset]\nkind = "spiral"\nsamples = 60\n[model]\nkind = "mlp"\nhidden = [4]\n'

_NUMBERS = {
    "loop": (
        "epochs",
        "batch_size",
        "accumulation",
        "max_steps",
        "clip_norm",
        "clip_value",
        "ema_decay",
        "max_skipped_steps",
    ),
    "optimizer": ("lr", "weight_decay", "eps"),
    "schedule": ("warmup", "pct_start", "div_factor"),
    "dataset": ("samples", "noise", "turns", "validation_fraction", "split_seed", "data_seed"),
    "checkpoints": ("every_steps", "keep_last"),
    "loader": ("workers", "memory_limit_mb", "cache_limit_gb"),
    "precision": ("threads",),
    "objective": ("label_smoothing",),
}
_NO_NUMBERS = {
    "nan": "nan",
    "minus infinity": "-inf",
    "infinity": "inf",
    "1e400": "1e400",
    "minus one": "-1",
    "true": "true",
    "100,000 digits": "1" * 100_000,
    "100,000 hexadecimal digits": "0x" + "f" * 100_000,
    "4,000 digits": "9" * 4000,
    "a date": "2020-02-30",
    "a table": "{a = 1}",
    "text": '"1"',
}


def _text(text: str) -> Make:
    return lambda path: _write(path, text.encode("utf-8", "surrogatepass"))


def _bytes(data: bytes) -> Make:
    return lambda path: _write(path, data)


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(data)


def _numbers() -> dict[str, Make]:
    """Each number a configuration knows, with values that are none (one section at a time, all its numbers at once)."""
    made: dict[str, Make] = {}
    kind = {"dataset": 'kind = "spiral"\n', "optimizer": 'kind = "adamw"\n', "schedule": 'kind = "one_cycle"\n'}
    for section, title in some_pairs(_NUMBERS, _NO_NUMBERS, 3):
        lines = "".join(
            f"{name} = {_NO_NUMBERS[title]}\n"
            for name in _NUMBERS[section]
            if not (name == "warmup" and section == "schedule")
        )
        made[f"numbers of [{section}]: {title}"] = _text(f"[{section}]\n{kind.get(section, '')}{lines}")
    for title, value in [*_NO_NUMBERS.items()][::2]:
        made[f"seed: {title}"] = _text(f"seed = {value}\n")
    return made


def _folder(path: Path) -> None:
    path.mkdir()


def _link(target: str) -> Make:
    return lambda path: path.symlink_to(target)


def _loop(path: Path) -> None:
    other = path.with_name("other")
    other.symlink_to(path)
    path.symlink_to(other)


def _sparse(size: int) -> Make:
    def make(path: Path) -> None:
        with path.open("wb") as stream:
            stream.truncate(size)

    return make


def _name(text: str) -> Make:
    """``text`` as a TOML basic string of escapes, so that the file itself is ordinary."""
    escaped = "".join(f"\\U{ord(character):08x}" for character in text)
    return _text(f'name = "{escaped}"\n' + ORDINARY.split("\n", 1)[1])


CONFIGS: dict[str, Make] = {
    "100,000 deep list": _text("a = " + "[" * 100_000),
    "100,000 deep closed list": _text("a = " + "[" * 100_000 + "]" * 100_000),
    "100,000 deep inline table": _text("a = " + "{b = " * 100_000),
    "100,000 deep dotted key": _text("a" + ".a" * 100_000 + " = 1"),
    "450,000 deep dotted key": _text("a" + ".a" * 450_000 + " = 1"),
    "100,000 deep table": _text("[a" + ".a" * 100_000 + "]"),
    "100,000 deep list of tables": _text("[[a" + ".a" * 100_000 + "]]"),
    "many keys of 200 parts": _text("".join(f"k{i}" + ".a" * 190 + " = 1\n" for i in range(2000))),
    "30 deep list": _text("a = " + "[" * 30 + "]" * 30),
    "the same table twice": _text("[loop]\n[loop]\n"),
    "the same key twice": _text("seed = 1\nseed = 2\n"),
    "20,000 unknown keys": _text("".join(f"k{number} = 1\n" for number in range(20_000))),
    "20,000 unknown sections": _text("".join(f"[s{number}]\n" for number in range(20_000))),
    "a key of 500,000 letters": _text("k" * 500_000 + " = 1"),
    "a text of 500,000 letters": _text('name = "' + "n" * 500_000 + '"'),
    "a kind of 500,000 letters": _text('[model]\nkind = "' + "n" * 500_000 + '"'),
    "a network of 500,000 letters": _text('[model]\nkind = "torchvision"\nname = "' + "n" * 500_000 + '"'),
    "an unknown key of escapes": _text('"\\u001b[31m\\u202e\\n" = 1'),
    "an unknown section of escapes": _text('["\\u001b]0;x\\u0007"]\na = 1'),
    "an unknown kind of escapes": _text('[model]\nkind = "\\u001b[2J"'),
    "a list of 50,000 numbers": _text("[schedule]\nkind = 'multi_step'\nmilestones = [" + "1," * 50_000 + "]"),
    "a comment of 900,000 letters": _text("#" * 900_000 + "\nseed = -1"),
    "500,000 blank lines": _text("\n" * 500_000 + "seed = -1"),
    "300,000 quotes": _text('a = """' + '"' * 300_000),
    "300,000 backslashes": _text('a = "' + "\\" * 300_000),
    "an unfinished text": _text('name = "'),
    "an unfinished text of escapes": _text('name = "\x1b[31m'),
    "50 MB": _bytes(b"#" * 50_000_000),
    "a sparse terabyte": _sparse(1 << 40),
    "zero bytes": _bytes(b"\0" * 1000),
    "a zero byte inside": _bytes(b"seed = 1\0\n"),
    "UTF-16": _bytes(ORDINARY.encode("utf-16")),
    "UTF-16 without its mark": _bytes(ORDINARY.encode("utf-16-le")),
    "UTF-32": _bytes(ORDINARY.encode("utf-32")),
    "Latin-1": _bytes('name = "é"'.encode("latin-1")),
    "invalid UTF-8": _bytes(b'name = "\xff\xfe\xfa"'),
    "half a character": _bytes(b'name = "\xed\xa0\x80"'),
    "overlong UTF-8": _bytes(b'name = "\xc0\xae\xc0\xae/"'),
    "a mark in the middle": _text("\ufeff\ufeffseed = 1"),
    "a pickle": _bytes(b"cos\nsystem\n(S'true'\ntR."),
    "YAML": _text("!!python/object/apply:os.system ['true']\n"),
    "JSON": _text('{"name": "x"}'),
    "a program": _text("#!/bin/sh\ntouch x\n"),
    "random bytes": _bytes(bytes((i * 7919 + (i >> 3)) % 256 for i in range(10_000))),
    "name with a new line": _name("a\nb"),
    "name with escapes": _name("\x1b[31mred"),
    "name with a zero byte": _name("a\0b"),
    "name with a bidi mark": _name("a\u202eb"),
    "name with a line separator": _name("a\u2028b"),
    "name of blanks": _name("   "),
    "name of nothing": _text('name = ""'),
    "name that is a list": _text("name = ['a']"),
    "folder above": _text('[dataset]\nkind = "idx"\npath = "../../../../../../../../no such folder"'),
    "folder with a zero byte": _text('[dataset]\nkind = "idx"\npath = "a\\u0000b"'),
    "folder with escapes": _text('[dataset]\nkind = "idx"\npath = "\\u001b[31m\\n"'),
    "folder with a bidi mark": _text('[dataset]\nkind = "image_folder"\npath = "a\\u202eb"'),
    "folder of 500,000 letters": _text('[dataset]\nkind = "idx"\npath = "' + "n" * 500_000 + '"'),
    "folder of 100,000 steps": _text('[dataset]\nkind = "idx"\npath = "' + "a/" * 100_000 + '"'),
    "folder of nobody": _text('[dataset]\nkind = "idx"\npath = "~nobody-of-this-name/x"'),
    "a device as the folder": _text('[dataset]\nkind = "image_folder"\npath = "/dev/zero"'),
    "the folder of devices": _text('[dataset]\nkind = "idx"\npath = "/dev"'),
    "a device to compute on": _text('[precision]\ndevice = "cuda:0; touch x"'),
    "a device of escapes": _text('[precision]\ndevice = "cpu\\n"'),
    "a network that is none": _text('[model]\nkind = "torchvision"\nname = "__import__"'),
    "a network with a path": _text('[model]\nkind = "torchvision"\nname = "../resnet18"'),
    "a folder": _folder,
    "a link to itself": _link("config.toml"),
    "a loop of links": _loop,
    "a link to nowhere": _link("nowhere"),
    "a link to /dev/zero": _link("/dev/zero"),
    "a link to the memory of the process": _link("/proc/self/mem"),
    "a pipe": lambda path: os.mkfifo(path),
    **_numbers(),
}

OVERRIDES: tuple[str, ...] = (
    "loop.epochs=nan",
    "loop.epochs=1e400",
    "loop.epochs=" + "1" * 100_000,
    "loop.epochs=0x" + "f" * 100_000,
    "loop.epochs=" + "[" * 50_000,
    "loop.epochs=" + "{a=" * 30_000,
    "loop.epochs={" + "a." * 60_000 + "a=1}",
    "loop.epochs=1\nseed = 3",
    "loader.cache_folder=" + "n" * 5000,
    "loader.cache_folder=" + "a/" * 5000,
    "loop.epochs=3\n" + "a." * 60_000 + "a = 1",
    "optimizer.lr=inf",
    "optimizer.lr=-0.0\x1b[31m",
    "optimizer.lr=true",
    "name=\x1b]0;owned\x07",
    "name=a\u202eb",
    "name=",
    "seed=-1",
    "=",
    "=1",
    "a.b.c=1",
    ".=1",
    "loop.=1",
    "loop",
    "\x1b[31m",
    "no_such_section.x=1",
    "loop.no_such_key=1",
    "loop.__class__=1",
    "__class__.__init__=1",
    "loop=1",
    "model.kind=" + "x" * 100_000,
    "model.kind=\x1b[2J",
    "dataset.kind=idx",
    "precision.device=cuda:99999999",
    "\ud800.x=1",
)
