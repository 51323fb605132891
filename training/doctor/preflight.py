"""Looks before a run starts: opens the data, builds the model, tries one real batch; trains nothing, writes nothing."""

from __future__ import annotations

import logging
import math
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import torch

from training.config import RunConfig
from training.config.rules.inactive_settings import list_inactive_on_purpose
from training.config.sections.data.images import SegmentationDataset
from training.data.prepared import PreparedData
from training.doctor.duplicates import duplicate_findings
from training.doctor.findings import ok
from training.doctor.memory import Trial, memory_findings, try_step
from training.doctor.network import norm_findings, own_network_findings
from training.doctor.run_time import WARM, measure_run_time
from training.doctor.unmeasurable import unmeasurable
from training.engine.assemble import assemble
from training.engine.compile import compile_session
from training.engine.device import describe_device, ran_out_of_memory
from training.engine.gpu_search import explain_cpu, look_for_nvidia
from training.engine.machine import explain_shared_memory
from training.engine.recovery.memory import count_saved_bytes, describe_shortage, find_fitting_batches, make_shortage
from training.engine.runs.outcome import describe_error, explain
from training.engine.session import Session
from training.engine.step import train_step
from training.errors import ConfigError, TrainingError, format_bytes, pluralize
from training.events import Finding, warn
from training.facts import DataFacts
from training.protocol.answers import RunTime
from training.system.untrusted import escape_unprintable

logger = logging.getLogger(__name__)

Report = Callable[[str, float | None], None]

_NAMELESS = frozenset([
    "unlabelled", "unlabeled", "void", "ignore", "ignored", "unclassified", "undefined", "unknown", "dontcare", "don'tcare",
])  # fmt: skip
"""Names of no class, in small letters and without spaces."""
_STEPS = 20
"""Of an epoch, where a smaller batch is proposed."""
LONELY = 0.5
"""Share of samples without another of their class in their batch, from which it is worth a warning."""
LOSS_BAND = 0.5
"""How far, as a share of log C, a fresh model's loss may lie from that of guessing before it is worth a warning."""


def preflight(
    config: RunConfig,
    workspace: Path,
    report: Report = lambda text, fraction: None,
    kept: PreparedData | None = None,
    tell_time: Callable[[RunTime], object] = lambda run_time: None,
) -> list[Finding]:
    """Findings in the order they matter; an "error" among them means that the run could not start or would be useless.

    What ``kept`` holds is not opened again, and what is opened stays there for the run. ``tell_time`` hears how long a run
    that could start will take.
    """
    phase = ""

    def note(text: str, fraction: float | None) -> None:
        nonlocal phase
        phase = text
        report(text, fraction)

    found: list[Finding] = []
    try:
        session = assemble(config, note, kept=kept)
        try:
            for some in _looks(session, workspace, note):
                found += some
            if all(item.level != "error" for item in found) and (run_time := measure_run_time(session)) is not None:
                tell_time(run_time)
                each = f"{WARM} warm steps of {run_time.step * 1e3:,.{1 if run_time.step < 0.1 else 0}f} ms"
                found.append(ok(f"The run takes {run_time}, by {each}."))
        finally:
            session.data.close()
    except ConfigError as error:
        found += [Finding(level="error", title=str(problem)) for problem in error.problems]
    except Exception as error:
        logger.info("The check found a fault", exc_info=True)
        unforeseen = f"An unexpected fault would end the run: {escape_unprintable(describe_error(error), 300)}"
        found.append(_make_error(explain(error, config, phase) or TrainingError(unforeseen)))
    return found


def _looks(session: Session, workspace: Path, report: Report) -> Iterator[list[Finding]]:
    """What there is to say, one look after the other."""
    yield _data(session)
    idle = list_inactive_on_purpose(session.config, session.data.source.parts)  # what was set and does nothing
    yield [Finding(level="info", title=f"{clause}.") for clause in idle]
    yield duplicate_findings(session.data, session.config.dataset, report)
    yield _weights(session)
    yield own_network_findings(session)
    yield norm_findings(session)
    yield [_device(session), *_missed_gpu(session), *_shared_memory(session)]
    yield _step(session)
    yield _compiling(session, report)
    yield [_disk(session, workspace)]


def _data(session: Session) -> list[Finding]:
    report, facts = session.data.report, session.data.facts
    parts = ", ".join(f"{count:,} {name}" for name, count in report.samples.items())
    found = [ok(f"The data opens: {parts}, {_count_names(facts)}; {report.batches.reason}.")]
    found += [Finding(level="info", title=f"{note[:1].upper()}{note[1:].rstrip('.')}.") for note in report.notes]
    found += _few_steps(session)
    if report.skipped_total:
        first = report.skipped[0]
        found.append(
            warn(
                f"{pluralize(report.skipped_total, 'file')} skipped, for example {first.path}: {first.reason}.",
                advice="The full list is shown when the run starts; repair or remove them if they matter.",
            )
        )
    if facts.target == "mask":
        return [*found, *_absent_in_masks(facts), *_nameless(session)]
    if facts.target in ("class", "labels"):
        return [*found, *_classes(session), *_few_pairs(session)]
    return [*found, *unmeasurable(facts, session.data.source.targets[session.data.splits["validation"]])]


def _few_steps(session: Session) -> list[Finding]:
    """A batch that holds more than all there is."""
    asked, samples = session.config.loop.batch_size, session.data.report.samples["train"]
    if asked <= samples:
        return []
    title = f"loop.batch_size is {asked:,}, more than the {pluralize(samples, 'training sample')}: an epoch is a single step."
    smaller = 2 ** max(math.floor(math.log2(samples / _STEPS)), 0)
    advice = "Only steps change the weights; take smaller batches."
    return [warn(title, advice=advice, fix={"loop.batch_size": smaller})]


def _absent_in_masks(facts: DataFacts) -> list[Finding]:
    """Classes without a pixel to learn from: a class list may name them, and masks that were held out by chance."""
    absent = [name for name, count in zip(facts.names, facts.counts, strict=False) if not count]
    if not absent:
        return []
    title = f"No training pixel for: {', '.join(absent[:10])}."
    return [warn(title, advice="Add masks that show them, or take them out of the class list.")]


def _nameless(session: Session) -> list[Finding]:
    """A class that stands for pixels nobody named, as lists of CamVid and Cityscapes have one: whether it is to be learned is for
    the person to say."""
    dataset, names = session.config.dataset, session.data.facts.names
    place = next((place for place, name in enumerate(names) if name.lower().replace(" ", "") in _NAMELESS), None)
    if place is None or not isinstance(dataset, SegmentationDataset) or dataset.ignore_index is not None:
        return []
    title = f"The class {names[place]} is learned and counted like any other, though its name says that it is none."
    advice = f"Set dataset.ignore_index to {place}, its place in the class list, to leave such pixels out."
    return [warn(title, advice=advice, fix={"dataset.ignore_index": place})]


def _few_pairs(session: Session) -> list[Finding]:
    """Batches that are compared within themselves, but mostly hold one sample of a class."""
    counts, size = session.data.report.counts["train"], session.config.loop.batch_size
    if not session.objective.compares_samples or session.objective.views > 1 or not sum(counts):
        return []
    present = [count for count in counts if count]
    if session.config.loader.sampling == "balanced":
        alone = (1.0 - 1.0 / len(present)) ** (size - 1)
    else:  # the chance that none of the others is of the same class, over all samples
        alone = sum(n / sum(present) * (1.0 - n / sum(present)) ** (size - 1) for n in present)
    if alone <= LONELY:
        return []
    title = (
        f"Only {1.0 - alone:.0%} of the samples would have another of their class in their batch to be compared with."
    )
    return [warn(title, advice="Take larger batches (loop.batch_size).")]


def _count_names(facts: DataFacts) -> str:
    """``10 classes``"""
    count = len(facts.names)
    if facts.target == "ranks":
        return "queries whose items are ranked"
    if facts.target == "values":
        return f"{pluralize(count, 'value')} to predict"
    words = {"class": "classes", "mask": "classes", "labels": "labels", "tokens": "tokens", "tasks": "targets"}
    return f"{count:,} {words[facts.target]}"


def _classes(session: Session) -> list[Finding]:
    """What is uneven or absent among the classes or labels."""
    report, names = session.data.report, session.data.facts.names
    found = []
    trained = list(zip(names, report.counts["train"], strict=True))
    counts = {label: n for label, n in trained if n}
    absent = [label for label, n in trained if not n]
    if absent:
        found.append(warn(f"No training sample for: {', '.join(absent[:10])}.", advice="Add some."))
    if counts and max(counts.values()) > 10 * min(counts.values()):
        rare, common = min(counts, key=lambda key: counts[key]), max(counts, key=lambda key: counts[key])
        uneven = f"The classes are uneven: {counts[common]:,} of {common}, {counts[rare]:,} of {rare}"
        found.append(_uneven(uneven, session.config))
    missing = [label for label, n in zip(names, report.counts["validation"], strict=True) if not n]
    if missing:
        found.append(
            warn(
                f"No validation sample for: {', '.join(missing[:10])}.",
                advice="How well these are learned cannot be measured.",
            )
        )
    return found


def _uneven(title: str, config: RunConfig) -> Finding:
    """What makes up for it, or could."""
    objective = config.objective
    if config.loader.sampling == "balanced":
        return ok(f"{title}; loader.sampling draws them alike.")
    names = [name for name in ("balanced", "class_weights", "pos_weight") if getattr(objective, name, None)]
    if names:
        return ok(f"{title}; objective.{names[0]} makes up for that.")
    advice = "Accuracy will favor the common ones; gather more of the rare ones"
    if not hasattr(objective, "balanced"):
        return warn(f"{title}.", advice=f"{advice}.")
    advice += ", or weigh them by objective.balanced."
    return warn(f"{title}.", advice=advice, fix={"objective.balanced": True})


def _weights(session: Session) -> list[Finding]:
    """What was taken of known weights, and what makes no sense without."""
    beginning = session.beginning
    if beginning:
        return [ok(beginning.sentence, advice=beginning.advice)]
    if session.config.optimizer.freeze == "off":
        return []
    return [
        warn(
            "What is frozen is randomly initialized, and stays so as long as it is frozen.",
            advice="Begin with pretrained weights, branch from a run that has some, or set optimizer.freeze to off.",
        )
    ]


def _device(session: Session) -> Finding:
    threads = f", {pluralize(torch.get_num_threads(), 'thread')}" if session.device.type == "cpu" else ""
    name, compute = describe_device(session.device), session.config.precision.compute
    if session.device.type == "cpu" and compute in ("fp16", "bf16"):
        return warn(
            f"The run works on the {name}{threads}, where {compute.upper()} is usually slower than FP32.",
            advice="Set precision.compute to fp32.",
        )
    return ok(f"The run works on the {name}{threads} in {compute.upper()}.")


def _missed_gpu(session: Session) -> list[Finding]:
    """A GPU that is there but cannot be used, where the device was left to the program."""
    if session.config.precision.device != "auto" or session.device.type != "cpu":
        return []
    reason = explain_cpu(look_for_nvidia())
    return [reason] if reason is not None else []


def _shared_memory(session: Session) -> list[Finding]:
    small = explain_shared_memory(session.data, session.config.loader.prefetch_factor)
    return [small] if small is not None else []


def _compiling(session: Session, report: Report) -> list[Finding]:
    """Where the step is to be compiled: whether that works here. What is compiled is kept for the run."""
    wanted = session.config.precision.compile
    try:
        compile_session(session, report)
    except TrainingError as error:
        return [_make_error(error)]
    return [] if wanted == "off" else [ok(f"The {wanted} can be compiled here.")]


def _step(session: Session) -> list[Finding]:
    """One real step: its loss against that of guessing, its time, the memory it needs."""
    try:
        trial = try_step(session)
    except (RuntimeError, MemoryError) as error:
        if not ran_out_of_memory(error):
            raise
        message = describe_shortage(error, session)
    else:
        return [_loss(session, trial), *memory_findings(session, trial)]
    return [_make_error(make_shortage(message, session, find_fitting_batches(session, train_step)))]


def _loss(session: Session, trial: Trial) -> Finding:
    guessing = session.objective.initial_loss
    if not math.isfinite(trial.loss):
        return Finding(
            level="error",
            title=f"The loss of the first batch is {trial.loss}.",
            advice="Look for broken samples, or use fp32 instead of fp16.",
        )
    if guessing is None:
        return ok(f"Initial loss {trial.loss:.3f}.")
    classes = len(session.data.facts.names)
    formula = f"ln {classes:,} = " if classes > 1 and math.isclose(guessing, math.log(classes)) else ""
    title = f"Initial loss {trial.loss:.3f} (chance level {formula}{guessing:.3f})"
    if abs(trial.loss - guessing) > LOSS_BAND * guessing:
        advice = "Far above means badly scaled inputs or initial weights; far below means that labels leak."
        return warn(f"{title}.", advice=advice)
    return ok(f"{title}.")


def _make_error(shortage: TrainingError) -> Finding:
    return Finding(level="error", title=shortage.message, advice=shortage.advice, fix=shortage.fix)


def _disk(session: Session, workspace: Path) -> Finding:
    """Whether the checkpoints that will lie on disk at once have room."""
    size = count_saved_bytes(session)
    count = session.config.checkpoints.keep_last + 2  # the best, and the one being written
    existing = next(folder for folder in (workspace, *workspace.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    text = (
        f"{count} checkpoints of {format_bytes(size)} need {format_bytes(count * size)}; {format_bytes(free)} are free"
    )
    if free < count * size * 1.2:
        return Finding(
            level="error", title=f"{text}.", advice="Free some space, keep fewer, or choose another workspace."
        )
    return ok(f"{text} in {existing}.")
