"""All arms, one after the other, and the verdict."""

from __future__ import annotations

import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from filelock import FileLock, Timeout
from pydantic import ValidationError

from training.control import Control
from training.data.prepared import PreparedData
from training.errors import CheckpointError, InputError, format_bytes
from training.prove.arms import Trained, seed_of, train_arm
from training.prove.plan import ProofPlan
from training.prove.progress import Arm, Reached, describe_steps, list_arms, note_plan, work_folder
from training.prove.verdict import Pair, judge, note_growth
from training.runs.folder import read_json
from training.runs.records.manifest import read_manifest, verify
from training.runs.records.proofs import ArmResult, OrderResult, Proof, read_proof, write_proof
from training.runs.storage import explain_disk_errors
from training.system.atomic import write_stream, write_text
from training.system.untrusted import MEGABYTE, open_file

_MOST_TERMS = 1024 * MEGABYTE
Say = Callable[[str], None]
Report = Callable[[str, Reached], None]
"""Hears the phase of the arm under way, and how far all is."""


class Damaged(CheckpointError):
    """The checkpoint that both arms were to begin with."""


def prove(plan: ProofPlan, say: Say, report: Report, control: Control) -> Proof | None:
    """Train the arms that are not there yet, and keep the verdict in the run's ``proofs``. None where ``control`` was told to stop: arms
    that are complete are kept for the next call.

    Raises Damaged where the checkpoint is not whole (plan again without it), InputError and TrainingError. Nothing of the run changes
    but ``proofs``."""
    with _claim(plan):
        known = read_proof(plan.run, plan.key)
        if known is not None:
            say("It was proved before; delete it from the run's proofs to have it proved again.")
            return known
        _clear_others(plan, say)
        with explain_disk_errors(work_folder(plan.run, plan.key)):
            work_folder(plan.run, plan.key).mkdir(exist_ok=True)
            note_plan(plan)
            held = _hold(plan)
        try:
            trained = _Arms(plan, held, say, report, control).train()
        finally:
            if not any(_is_trained(plan, arm) for arm in list_arms(plan.orders)):  # nothing to go on with
                shutil.rmtree(work_folder(plan.run, plan.key), ignore_errors=True)
        if trained is None:
            return None
        proof = _conclude(plan, trained)
        write_proof(plan.run, proof)
        shutil.rmtree(work_folder(plan.run, plan.key), ignore_errors=True)
        return proof


@contextmanager
def _claim(plan: ProofPlan) -> Iterator[None]:
    """One proof of a run at a time, and room for it. Raises InputError."""
    place = plan.run.proofs
    try:
        place.mkdir(exist_ok=True)
        free = shutil.disk_usage(place).free
        lock = FileLock(place / ".lock")
        lock.acquire(timeout=0)
    except Timeout as error:
        raise InputError(f"{place}: another process proves something of this run; wait until it is done.") from error
    except OSError as error:
        raise InputError(
            f"{place} cannot be written ({error.strerror or error}); make the run's folder writable."
        ) from error
    try:
        if free < plan.room:
            raise InputError(
                f"{place}: {format_bytes(plan.room)} are needed and {format_bytes(free)} are free; free some space."
            )
        yield
    finally:
        lock.release()


def _clear_others(plan: ProofPlan, say: Say) -> None:
    for path in plan.run.proofs.iterdir():
        if path.is_dir() and path.name != plan.key:
            say(f"{path.name} was left unfinished; its arms are deleted.")
            shutil.rmtree(path, ignore_errors=True)


def _is_trained(plan: ProofPlan, arm: Arm) -> bool:
    return (work_folder(plan.run, plan.key) / f"{arm.name}.json").is_file()


def _hold(plan: ProofPlan) -> Path | None:
    """The checkpoint by another name: a run that is being trained may delete its own meanwhile. Raises Damaged, OSError."""
    if plan.checkpoint is None:
        return None
    held = work_folder(plan.run, plan.key) / plan.checkpoint.name
    try:
        if not held.is_dir():
            shutil.copytree(plan.checkpoint, held, copy_function=_link)
        verify(held)
    except (CheckpointError, shutil.Error) as error:
        shutil.rmtree(held, ignore_errors=True)
        raise Damaged(f"{plan.checkpoint}: is damaged or was just deleted ({error}).") from error
    return held


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # the disk has no such links
        shutil.copyfile(source, target)


@dataclass
class _Arms:
    plan: ProofPlan
    held: Path | None
    say: Say
    report: Report
    control: Control

    def train(self) -> Mapping[Arm, Trained] | None:
        """Of all; None where a stop was asked for."""
        plan = self.plan
        if note := describe_steps(plan):
            self.say(note)
        found, kept = dict[Arm, Trained](), PreparedData()
        arms = list(list_arms(plan.orders))
        try:
            for done, arm in enumerate(arms):
                known = self._read(arm)
                if known is not None:
                    self.say(f"{arm.name}: trained before")
                    found[arm] = known
                    continue
                trained = train_arm(plan, arm, self.held, self.control, kept, self._tell(arm, done, len(arms)))
                if trained is None:
                    return None
                self._write(arm, trained)
                found[arm] = trained
        finally:
            kept.drop()
        return found

    def _tell(self, arm: Arm, done: int, arms: int) -> Callable[[str, int, int], None]:
        def tell(phase: str, step: int, steps: int) -> None:
            self.report(phase, Reached(arm.order, self.plan.orders, arm.with_fix, step, steps, done, arms))

        return tell

    def _read(self, arm: Arm) -> Trained | None:
        place = self._place(arm)
        record = read_json(place.with_suffix(".json"))
        if not record:
            return None
        terms: dict[str, np.ndarray] = {}
        with suppress(ValidationError, OSError, ValueError, EOFError, BadZipFile):
            result = ArmResult.model_validate(record)
            with (
                open_file(place.with_suffix(".npz"), _MOST_TERMS) as stream,
                np.load(stream, allow_pickle=False) as stored,
            ):
                terms = {name.replace("-", "/"): stored[name] for name in stored.files}
            return Trained(result, terms)
        return None

    def _write(self, arm: Arm, trained: Trained) -> None:
        """What counts comes last."""
        place = self._place(arm)
        arrays = {name.replace("/", "-"): each for name, each in trained.terms.items()}
        with explain_disk_errors(place):
            write_stream(place.with_suffix(".npz"), lambda stream: np.savez(stream, allow_pickle=False, **arrays))
            write_text(place.with_suffix(".json"), json.dumps(trained.result.model_dump()) + "\n")

    def _place(self, arm: Arm) -> Path:
        return work_folder(self.plan.run, self.plan.key) / arm.name


def _conclude(plan: ProofPlan, trained: Mapping[Arm, Trained]) -> Proof:
    pairs = []
    for order in range(1, plan.orders + 1):
        without, with_ = trained[Arm(order, False)], trained[Arm(order, True)]
        pairs.append(Pair(without.result, with_.result, without.terms, with_.terms))
    pairs = note_growth(pairs, plan.effects, plan.start)
    found = judge(pairs, plan.effects, plan.steps, _find_started(plan))
    finding = plan.finding
    return Proof(
        key=plan.key,
        finding=finding.key if finding is not None else "",
        title=finding.title if finding is not None else "",
        fix=dict(plan.fix),
        start=plan.start,
        started=plan.started,
        steps=plan.steps,
        orders=tuple(
            OrderResult(seed=seed_of(plan, order), without=pair.without, with_=pair.with_)
            for order, pair in enumerate(pairs, 1)
        ),
        verdict=found.verdict,
        sentence=found.sentence,
        differences=found.differences,
        notes=(*plan.notes, *found.notes),
        seconds=round(sum(each.result.seconds for each in trained.values()), 3),
        created=time.time(),
    )


def _find_started(plan: ProofPlan) -> Mapping[str, float]:
    """The metrics of the very step at which both arms began, where it was validated."""
    if plan.checkpoint is None:
        return {}
    with suppress(CheckpointError, OSError):
        manifest = read_manifest(plan.checkpoint)
        if manifest.metrics_step in (None, manifest.step):
            return {name: value for name, value in manifest.metrics.items() if math.isfinite(value)}
    return {}
