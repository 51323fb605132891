"""One run after the other, each a process of its own, and then the ranking of all samples."""

from __future__ import annotations

from collections.abc import Callable

from filelock import FileLock, Timeout

from training.errors import InputError, TrainingError
from training.evaluation import evaluate_left_out
from training.evaluation.opening import ReportProgress
from training.labels.folds import Fold, divide, prepare_runs
from training.laboratory.child import Interrupt, train
from training.predictions import Evaluation
from training.predictions.suspicious import SuspiciousLabels, note_weakness, rank_labels, read_found, write_found
from training.runs.folder import RunFolder
from training.runs.workspace import find_checkpoint

Say = Callable[[str], None]


def judge_training_part(
    run: RunFolder, folds: int, say: Say, report_progress: ReportProgress, interrupt: Interrupt
) -> SuspiciousLabels | None:
    """The suspicious labels of the run's training part, by ``folds`` runs of which those are trained that are not complete yet. None
    where ``interrupt`` was asked for an end: what was trained is kept. Raises InputError, TrainingError."""
    run.labels.mkdir(exist_ok=True)
    lock = FileLock(run.labels / ".lock")
    try:
        with lock.acquire(timeout=0):
            return _judge(run, folds, say, report_progress, interrupt)
    except Timeout as error:
        raise InputError(
            f"{run.labels}: another process looks for suspicious labels; wait until it is done."
        ) from error


def _judge(
    run: RunFolder, folds: int, say: Say, report_progress: ReportProgress, interrupt: Interrupt
) -> SuspiciousLabels | None:
    divided = divide(run, folds, report_progress)
    known = read_found(run)
    prepare_runs(run, divided)
    judged: list[Evaluation] = []
    for number, fold in enumerate(divided.each, 1):
        _train(fold, f"[{number}/{folds}]", say, interrupt)
        if interrupt.asked:
            return None
        checkpoint, instead = find_checkpoint(str(fold.run.path), run.labels)
        if instead:
            say(instead)
        judged.append(evaluate_left_out(checkpoint, fold.numbers, report_progress))
        if interrupt.asked:
            return None
    found = SuspiciousLabels(
        on="train",
        fingerprint=divided.fingerprint,
        samples=divided.samples,
        folds=folds,
        seed=divided.seed,
        found=rank_labels(judged),
        notes=(*divided.notes, *note_weakness(judged)),
    )
    if found != known:
        write_found(run, found)
    return found


def _train(fold: Fold, head: str, say: Say, interrupt: Interrupt) -> None:
    if fold.run.status().status == "completed":
        say(f"{head} trained before")
        return
    say(f"{head} training without {len(fold.numbers):,} samples")
    ended = train(fold.run, say, interrupt)
    if ended.code and not interrupt.asked:
        words = ended.words.splitlines()[-1] if ended.words else f"its process ended with code {ended.code}"
        raise TrainingError(f"{head} {words}", "Mend that and begin again: what was trained is kept.")
