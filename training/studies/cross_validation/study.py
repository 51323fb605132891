"""Cross-validation from its plan to its result."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

from pydantic import JsonValue

from training.config import RunConfig
from training.config.files import config_data
from training.config.sections.data.dataset_section import PartsSection
from training.errors import InputError, pluralize
from training.labels.progress import FEWEST, MOST, USUAL
from training.metric_names import show_metric, title_of
from training.studies.records import Ask, Cost, Draft, Options, Plan, PlannedRun, Result
from training.studies.spread import describe_values, measure_values
from training.studies.trainer import Trainer
from training.studies.worker import Worker

_BY = {"class": "class by class", "group": "in whole groups", "time": "by time, each run on what is earlier alone"}


def plan(config: RunConfig, options: Options, cost: Cost) -> Draft:
    """``options``: how many ``folds``, and ``by`` what."""
    folds = _read_folds(options)
    dataset = config.dataset
    if not isinstance(dataset, PartsSection):
        raise InputError(
            f"dataset.kind: {dataset.kind} has no exclude list, so no fold can be left out ({dataset.no_exclude})."
        )
    steps = max(round(cost.steps * (1.0 - 1.0 / folds)), 1)
    expected = cost.estimate(config, min(steps, cost.steps)).repeat(folds)
    return Draft(
        seconds=expected.seconds,
        bytes=expected.bytes,
        words=(expected.words,),
    )


def look(ask: Ask, config: RunConfig, options: Options, draft: Draft) -> Draft:
    """``draft`` with what is known once the data is divided. Raises InputError where it cannot be, before anything is made."""
    folds = _read_folds(options)
    asked = str(options.get("by", "auto"))
    by = ask("try-folds", settings=config_data(config), folds=folds, by=asked)["by"]
    count = pluralize(folds, "fold")
    if by == "time":
        words = f"{count} of the training part by time; each run is trained on what is earlier than one alone, and answers it. Its last checkpoint counts."
    else:
        words = f"{count} of the training part, {_BY[by]}; each run is trained without one, and answers it. The validation part chooses the best checkpoint of each, as always."
    return draft.model_copy(update={"words": (words, *draft.words)})


def _read_folds(options: Options) -> int:
    folds = options.get("folds", USUAL)
    if not isinstance(folds, int) or not FEWEST <= folds <= MOST:
        raise InputError(f"--folds {folds}: must be from {FEWEST} to {MOST}, for example {USUAL}.")
    return folds


def carry_out(plan: Plan, trainer: Trainer) -> Result:
    """Divide, train, answer, and put together."""
    count, study = _read_folds(plan.options), trainer.study
    place = study.path / "folds"
    trainer.expect(count + 2)
    trainer.begin_part("Dividing the training part")
    folds: dict[str, Any] = study.read_part("folds")
    with Worker(trainer.interrupt) as worker:
        if not folds:
            trainer.say("Dividing the training part ...")
            by = str(plan.options.get("by", "auto"))
            folds = worker.ask("folds", settings=plan.settings, folds=count, by=by, folder=str(place))
            study.write_part("folds", folds)
    trainer.end_part()
    trainer.say(f"{pluralize(folds['samples'], 'sample')} in {pluralize(count, 'fold')}, {_BY[folds['by']]}")
    runs = trainer.train(
        _make_run(plan.config, str(place / f"fold-{number}.txt"), number) for number in range(1, count + 1)
    )
    trainer.begin_part("Answering what each was trained without")
    judged: dict[str, Any] = study.read_part("judged")
    if not judged:
        trainer.say("Answering what each was trained without ...")
        with Worker(trainer.interrupt) as worker:
            judged = worker.ask(
                "out-of-fold", study=str(study.path), runs=[str(run.path) for run in runs.values()], folds=folds
            )
        study.write_part("judged", judged)
    return _conclude(plan, folds, judged, {key: run.id for key, run in runs.items()})


def _make_run(config: RunConfig, exclude: str, number: int) -> PlannedRun:
    chosen = config.add_to_name(f"without fold {number}")
    assert isinstance(config.dataset, PartsSection)
    dataset = config.dataset.model_copy(update={"exclude": exclude})
    return PlannedRun.of(f"fold-{number}", chosen.model_copy(update={"dataset": dataset}))


def _conclude(plan: Plan, folds: Mapping[str, Any], judged: Mapping[str, Any], runs: Mapping[str, str]) -> Result:
    each, whole = judged["each"], judged["whole"]
    asked = plan.config.monitor.removeprefix("val/")
    name = asked if _is_known(each, asked) else "loss"
    if not _is_known(each, name):
        raise InputError(f"{asked}: is not a number in every fold, so the folds cannot be compared.")
    values = measure_values([one[name] for one in each])
    sentence = f"{describe_values(name, values, 'folds')}."
    told = whole.get(name)
    if told and told["value"] is not None:
        sentence += (
            f" All {pluralize(judged['samples'], 'out-of-fold answer')} together: {show_metric(name, told['value'])}"
        )
        if told["low"] is not None:
            sentence += f" ({show_metric(name, told['low'])} to {show_metric(name, told['high'])})"
        sentence += "."
    others = [other for other in each[0] if other != name and _is_known(each, other)]
    notes = [
        *(f"{describe_values(other, measure_values([one[other] for one in each]), 'folds')}." for other in others),
        "Folds share most of what they are trained on, so the interval of their mean is narrower than it should be (Bengio and Grandvalet, "
        "2004).",
        f"The out-of-fold answers are kept as an evaluation in {judged['folder']}",
    ]
    details: dict[str, JsonValue] = {
        "metric": name,
        "title": title_of(name),
        "by": folds["by"],
        "runs": dict(runs),
        "samples": [len(numbers) for numbers in folds["numbers"]],
        "values": {one: [fold[one] for fold in each] for one in (name, *others)},
        "mean": values.mean.value,
        "low": values.mean.low,
        "high": values.mean.high,
        "std": values.std,
        "out_of_fold": dict(whole),
        "evaluation": judged["folder"],
    }
    return Result(kind="cv", sentence=sentence, notes=tuple(notes), details=details, created=time.time())


def _is_known(each: list[Mapping[str, Any]], name: str) -> bool:
    values = [one.get(name) for one in each]
    return all(isinstance(value, float | int) and math.isfinite(value) for value in values)
