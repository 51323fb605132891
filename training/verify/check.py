"""An exported file proven once more, wherever it is now."""

from __future__ import annotations

import hashlib
import io
import json
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from training.errors import InputError
from training.metric_names import show_change
from training.system.untrusted import MEGABYTE, UnfitFile, escape_unprintable, open_file, parse_json, read_bytes
from training.verify.kept import CARD, LENGTHS, NAME, PREPROCESS, PROOF, read_kept
from training.verify.prove import ALIKE, Findings, compare_reading, compare_variant, prove, show_level
from training.verify.runtimes import GRAPHS, MODEL, Inputs, open_runtime

FORMAT = "trainwright-proof"
PLAIN = ".logits"
"""What the name of the plain variant has before its ending."""
_MOST = 1 << 42


def verify_export(path: Path, trust: bool) -> Findings:
    """Prove the file ``path``, or the one in the folder ``path``, against what lies beside it. ``trust`` allows the Python files there
    to be run. Raises InputError for what is no export, was changed since, or needs code that nobody trusts."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file; give an exported file, or its folder.")
    folder = path if path.is_dir() else path.parent
    proof = read_proof(folder)
    file = folder / proof["file"]["name"] if path.is_dir() else path
    if file.name != proof["file"]["name"]:
        raise InputError(
            f"{file}: {PROOF} beside it is of {escape_unprintable(proof['file']['name'], 100)}; give that one."
        )
    for name, sha256 in proof["files"].items():
        if name != CARD:  # which earlier versions name
            _require_same(folder, str(name), str(sha256))
    return check(file, trust)


def check(file: Path, trust: bool) -> Findings:
    """The proof itself, of a file beside its samples."""
    if file.suffix not in GRAPHS and not trust:
        raise InputError(
            f"{file}: is loaded by the Python file beside it, which may run whatever its author put into it.",
            "Add --trust where you trust its author.",
        )
    kept = read_kept(file.with_name(NAME))
    found = prove(kept, open_runtime(file))
    plain = file.with_name(f"{file.stem}{PLAIN}{file.suffix}")
    if plain.is_file() and file.suffix in GRAPHS:
        compare_variant(kept, open_runtime(plain), _adapt_to_plain, found, plain.name)
    answered = not found.faults
    code = file.with_name(PREPROCESS if file.suffix in GRAPHS else MODEL)
    if kept.raw is not None and code.is_file():
        if trust:
            if (read := _open_reader(code, next(iter(kept.inputs)))) is not None:
                compare_reading(kept, read, found, code.name)
        else:
            found.told["preprocess"] = None
    if found.faults and file.suffix in GRAPHS and kept.dtype == "float32":
        found.told["place"] = f"in {code.name}" if answered else _locate(found)
    return found


def _locate(found: Findings) -> str:
    """Where a graph that is not proven first differs: "in the network", with words for a sentence."""
    difference, plain = found.told["difference"], found.told.get("plain", {})
    is_right, is_plain_right = (each.get("largest", 0.0) <= difference["allowed"] for each in (difference, plain))
    if not is_right:
        return (
            f"in front of the network, for {plain['name']} is right" if plain and is_plain_right else "in the network"
        )
    if not is_plain_right:
        return f"in {plain['name']} alone"
    return "behind the network, where its scores become answers, for they are right"


def describe_place(told: Mapping[str, Any]) -> str:
    """Where it first differs, as a sentence with a space before it; "" where that is not known."""
    return f" The first difference lies {told['place']}." if told.get("place") else ""


def read_proof(folder: Path) -> dict[str, Any]:
    """What ``proof.json`` in ``folder`` says. Raises InputError."""
    path = folder / PROOF
    shown = escape_unprintable(str(path), 300)
    try:
        data = parse_json(read_bytes(path, MEGABYTE))
        if data["format"] != FORMAT or data["version"] != 1:
            raise ValueError("it is of another format")
        if Path(data["file"]["name"]).name != data["file"]["name"] or not isinstance(data["files"], dict):
            raise ValueError("it names no file beside it")
        return dict(data)
    except FileNotFoundError as error:
        raise InputError(f"{shown}: is missing, so there is nothing to verify; export the model again.") from error
    except (OSError, UnfitFile, ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{shown}: is not what an export writes ({escape_unprintable(str(error), 200)}); export the model again."
        ) from error


def write_proof(file: Path, found: Findings) -> dict[str, Any]:
    """Write ``proof.json`` beside ``file`` with what was ``found``, and the digest of every file there; returns it."""
    beside = sorted(each for each in file.parent.iterdir() if each.is_file() and each.name not in (PROOF, CARD))
    digests = {each.name: digest(each) for each in beside}
    record = {
        "format": FORMAT,
        "version": 1,
        "file": {"name": file.name, "bytes": file.stat().st_size, "sha256": digests[file.name]},
        **found.told,
        "files": digests,
    }
    text = json.dumps(record, indent=1, ensure_ascii=False, default=float)
    file.with_name(PROOF).write_text(text + "\n", encoding="utf-8")
    return record


def digest(file: Path) -> str:
    """SHA-256 of a file's content."""
    whole = hashlib.sha256()
    with open_file(file, _MOST) as stream:
        while some := stream.read(1 << 20):
            whole.update(some)
    return whole.hexdigest()


def describe(record: Mapping[str, Any]) -> str:
    """A proof, or the ``told`` of ``Findings``, in sentences: the only place where it is."""
    drawn, worst = int(record["drawn"]), int(record["worst"])
    if record["part"]:
        chosen = f" and the {worst} worst {record.get('chosen', '')}".rstrip() if worst else ""
        trained = f", {record['trained']:,} of the training part" if record.get("trained") else ""
        what = f"{drawn:,} samples of the {record['part']} part{trained}{chosen}"
    else:
        what = f"{drawn:,} made-up samples"
    difference = record["difference"]
    p99 = f" (99th percentile {difference['p99']:.3g})" if difference.get("p99") is not None else ""
    words = [f"largest difference of a score {difference['largest']:.3g}{p99}"]
    if "agreement" in record:
        differing = f" ({record['differing']:,} of {record['answers']:,} differ)" if record.get("differing") else ""
        words.append(f"{show_agreement(record['agreement'])} of the answers alike{differing}")
    for name, each in record.get("metrics", {}).items():
        words.append(show_change(name, *(each[key] for key in ("before", "after", "low", "high"))))
    return f"On {what}: {', '.join(words)}.{_describe_reading(record.get('preprocess'))}{warn(record)}"


def _describe_reading(told: Mapping[str, Any] | None) -> str:
    """What ``preprocess.py`` read, as a sentence with a space before it; "" where it was not run."""
    if not told:
        return ""
    what, largest = told.get("what") or "raw samples", told["largest"]
    how = f"within {show_level(largest, what)} of what training read" if largest else "exactly as training did"
    return f" {told.get('file') or PREPROCESS} read {told['samples']:,} {what} {how}."


def warn(record: Mapping[str, Any]) -> str:
    """What a person should think about before the file is used, as a sentence with a space before it; "" where nothing."""
    if record.get("agreement", 1.0) >= ALIKE:
        return ""
    judge = (
        "the difference of its metric tells whether that will do"
        if record.get("metrics")
        else "try it on data of yours"
    )
    return f" Warning: fewer than {ALIKE:.1%} of its answers are the model's; {judge}."


def show_agreement(share: float) -> str:
    """The share of the answers that are the model's, "100%" of all alone."""
    return "100%" if share == 1.0 else f"{min(share, 0.9999):.2%}"


def _require_same(folder: Path, name: str, sha256: str) -> None:
    if Path(name).name != name:
        raise InputError(
            f"{folder / PROOF}: names {escape_unprintable(name, 100)}, which lies elsewhere; export the model again."
        )
    try:
        same = digest(folder / name) == sha256
    except (OSError, UnfitFile) as error:
        raise InputError(
            f"{folder / name}: is missing or cannot be read; bring it along, or export the model again."
        ) from error
    if not same:
        raise InputError(f"{folder / name}: was changed or damaged since it was exported; export the model again.")


def _adapt_to_plain(inputs: Inputs) -> Inputs:
    """What the plain variant takes: channels first, and no lengths."""
    samples = next(iter(inputs.values()))
    if samples.dtype == np.uint8:
        samples = np.ascontiguousarray(samples.transpose(0, 3, 1, 2))
    return {"samples": samples}


def _open_reader(code: Path, name: str) -> Callable[[bytes], Inputs] | None:
    """What makes the input ``name`` of a raw sample, by the file beside the model; None where that reads none."""
    usage = runpy.run_path(str(code))
    facts = usage["load_facts"]()

    def read_image(content: bytes) -> Inputs:
        pixels = usage["read_image"](facts, io.BytesIO(content))
        return {name: pixels if code.name == PREPROCESS else pixels.transpose(0, 2, 3, 1)}

    def read_row(content: bytes) -> Inputs:
        return {name: usage["read_rows"](facts, [json.loads(content)])}

    def read_text(content: bytes) -> Inputs:
        return dict(zip((name, LENGTHS), usage["read_text"](facts, content.decode()), strict=True))

    readers = {
        "images": ("read_image", read_image),
        "features": ("read_rows", read_row),
        "tokens": ("read_text", read_text),
    }
    wanted, read = readers[name]
    return read if wanted in usage else None
