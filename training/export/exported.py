"""A trained model written, proven, and only then put where it was wanted."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import training
from training.errors import InputError, TrainingError
from training.export.bundle import ExportBundle
from training.export.choices import Choices, Settled, settle
from training.export.facts import write_facts
from training.export.formats import FORMATS, Format, Plan
from training.export.loader import write_loader, write_preprocess
from training.export.place import TOKENIZER, write_beside
from training.export.proof.data import open_data
from training.export.proof.samples import describe_answers, gather_kept
from training.protocol.answers import ExportResult
from training.report.card import CardFile, render_card
from training.report.facts import read_facts
from training.runs.export_place import target_of
from training.runs.records.exports import ExportNote, ProofSummary, note_export
from training.runs.records.manifest import digest
from training.system.untrusted import escape_unprintable
from training.verify.check import check, describe, describe_place, warn, write_proof
from training.verify.kept import CARD, NAME, Kept, write_kept
from training.verify.prove import Findings

_KEPT_BYTES = 64 << 20
"""Of the samples that stay beside an export."""
ReportProgress = Callable[[str, float | None], None]


def export_model(
    load: Callable[[], ExportBundle], to: str, out: Path, choices: Choices, report_progress: ReportProgress
) -> ExportResult:
    """Write the model as format ``to``, prove it on real samples, and only then put it where ``out`` says.

    Raises InputError when ``out`` cannot be used, a package cannot be loaded or something was chosen that the model or the format has no
    use for, before anything is written; TrainingError for a file that does not answer as the checkpoint: nothing of it stays.
    """
    form = FORMATS[to]
    if choices.quantize and not form.is_graph:
        raise InputError(
            f"--quantize {choices.quantize}: is for onnx and openvino; {to} holds the weights as they were trained."
        )
    folder, name = target_of(out, form.suffix)
    usage = form.usage()
    bundle = load()
    settled = settle(choices, bundle)
    answering = describe_answers(bundle, settled)
    report_progress("reading samples for the proof", None)
    data = open_data(bundle, report_progress)
    with write_beside(folder) as temporary:
        file = temporary / name
        report_progress(f"writing {to}", None)
        graph = form.write(bundle, file, Plan(answering, settled, data))
        write_loader(bundle, file, usage)
        if form.is_graph:
            write_preprocess(bundle, file)
        if bundle.facts.vocabulary:
            tokenizer = bundle.vocabulary.tokenizer_json()  # for ``Tokenizer.from_file`` of the tokenizers library
            (temporary / TOKENIZER).write_text(tokenizer + "\n", encoding="utf-8")
        write_facts(bundle, file, to, settled, graph)
        report_progress("proving it", None)
        kept = gather_kept(bundle, answering, data, settled.quantize or "float32", form.tolerance)
        found = prove(form, file, kept)
        if found.faults:
            raise _refuse(bundle, file, kept, found)
        if file.suffix == ".onnx":
            _mark(file, bundle, settled, found.told)
        if not (folder / CARD).exists():  # the author may have filled in what only a person knows
            _write_card(bundle, file, _name(to, settled), found.told)
        write_facts(bundle, file, to, settled, graph)
        record = write_proof(file, found)
        names = sorted(path.name for path in temporary.iterdir())
    note = _note(bundle, folder / name, to, settled, record)
    words = f" It was not proven on the run's own samples: {data}." if isinstance(data, str) else ""
    return ExportResult(
        format=to,
        path=str(folder / name),
        files=tuple(str(folder / each) for each in names),
        max_difference=float(record["difference"]["largest"]),
        proof=describe(record),
        warns=bool(warn(record)),
        summary=f"Exported {_name(to, settled)} to {folder / name}, and proved it. {describe(record)}{settled.describe()}{words}{note}",
    )


def _write_card(bundle: ExportBundle, file: Path, form: str, told: dict[str, Any]) -> None:
    """Where the run is known: a checkpoint that was copied elsewhere has no facts to tell."""
    if not bundle.run.config_file.is_file():
        return
    card = CardFile(
        file.name,
        form,
        file.stat().st_size,
        digest(file),
        describe(told),
        bundle.manifest.step,
        bundle.facts.layout,
        bundle.facts.target,
        sum(parameter.numel() for parameter in bundle.model.parameters()),
        bundle.manifest.metrics,
        bundle.manifest.metrics_step or bundle.manifest.step,
    )
    (file.parent / CARD).write_text(render_card(read_facts(bundle.run), card), encoding="utf-8")


def _name(to: str, settled: Settled) -> str:
    return f"{to} in {settled.quantize}" if settled.quantize else to


def prove(form: Format, file: Path, kept: Kept) -> Findings:
    """Compare ``file`` with the checkpoint's answers that are ``kept``, and leave beside it what fits there."""
    beside = file.with_name(NAME)
    write_kept(kept, beside)
    found = _prove_apart(file) if form.is_graph else check(file, trust=True)
    if kept.bytes > _KEPT_BYTES:
        write_kept(kept.first(max(1, len(kept) * _KEPT_BYTES // kept.bytes)), beside)
    return found


def _refuse(bundle: ExportBundle, file: Path, kept: Kept, found: Findings) -> TrainingError:
    """Why it is not exported, and where it first differs."""
    difference, told = found.told.get("difference", {}), found.told
    if file.suffix == ".onnx" and not difference.get("largest", 0.0) <= difference.get("allowed", math.inf):
        from training.export.proof.first_difference import find_first_difference

        told = told | {"place": find_first_difference(bundle, file, kept) or told.get("place")}
    return TrainingError(
        f"The exported model was loaded again and is not the checkpoint's: {'; '.join(found.faults)}.{describe_place(told)} Nothing was "
        "exported.",
        "Choose another checkpoint or leave --quantize out."
        if kept.dtype == "int8"
        else "Choose another format, and tell us about it.",
    )


def _prove_apart(file: Path) -> Findings:
    """In a fresh process that never loads torch."""
    root = str(Path(training.__file__).absolute().parents[1])
    paths = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
    words = [sys.executable, "-m", "training.verify", str(file)]
    done = subprocess.run(
        words, env={**os.environ, "PYTHONPATH": paths}, cwd=file.parent, capture_output=True, text=True, check=False
    )
    try:
        answer = json.loads(done.stdout.splitlines()[-1])
        found = Findings(dict(answer["told"]), list(answer["faults"]))
    except (ValueError, LookupError, TypeError) as error:
        why = escape_unprintable((done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1], 300)
        raise TrainingError(f"The exported model could not be proven: {why}. Nothing was exported.") from error
    if found.told.get("torch_loaded"):
        found.faults.append("its proof loaded torch")
    return found


def _mark(file: Path, bundle: ExportBundle, settled: Settled, told: dict[str, Any]) -> None:
    """The graph says itself what it is and how it was proven."""
    from training.export.graph import mark_graph

    facts = {
        "task": bundle.config.objective.kind,
        "classes": json.dumps(bundle.facts.names, ensure_ascii=False),
        "trainwright": training.__version__,
        "checkpoint": bundle.checkpoint.name,
        "proof": json.dumps({name: each for name, each in told.items() if name != "machine"}, ensure_ascii=False),
    }
    if settled.temperature is not None:
        facts["temperature"] = repr(settled.temperature)
    mark_graph(file, facts)


def _note(bundle: ExportBundle, path: Path, to: str, settled: Settled, record: dict[str, Any]) -> str:
    """Write the export down in its run; returns a sentence where that cannot be."""
    if not bundle.run.config_file.is_file():
        return ""
    return note_export(
        bundle.run,
        ExportNote(
            path=str(path),
            format=to,
            quantized=settled.quantize,
            bytes=sum(each.stat().st_size for each in path.parent.glob(f"{path.stem}.*") if _is_weights(each, path)),
            sha256=record["file"]["sha256"],
            step=bundle.manifest.step,
            checkpoint=bundle.checkpoint.name,
            time=time.time(),
            proof=ProofSummary.of(record),
        ),
    )


def _is_weights(each: Path, path: Path) -> bool:
    """Whether it is the file itself or holds its weights."""
    return each.name in (path.name, f"{path.name}.data", f"{path.stem}.bin")
