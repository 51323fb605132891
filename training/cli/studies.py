"""``python -m training study``: a study of a configuration, begun or gone on with."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path

from pydantic import JsonValue

from training.cli.options import agree, load_given, workspace_of
from training.config import apply_overrides, parse_config, save_config
from training.config.files import config_data, overrides_of
from training.errors import InputError, TrainingError
from training.laboratory.child import Interrupt, count_signals
from training.streams import print_json, say
from training.studies.folder import StudyFolder, create_study, find_study, list_studies, make_plan, refuse_full_disk
from training.studies.kinds import STUDY_KINDS
from training.studies.records import Cost, Kind, Options, Plan, Result
from training.studies.trainer import Interrupted, Trainer
from training.studies.worker import Worker, serve
from training.system.held_input import call_at_its_end
from training.toml_text import Toml
from training.typed_paths import parse_path

_OPTIONS = ("seeds", "against", "steps", "trial_steps", "band", "folds", "by", "only")


def study(arguments: argparse.Namespace) -> int:
    """Tell what it takes, do it, and tell what it says; returns the exit code, 130 where it was stopped before its end."""
    if arguments.measure:
        return serve()
    if arguments.list:
        return _list(arguments)
    interrupt = Interrupt()
    if arguments.while_held:
        call_at_its_end(interrupt.ask)
    _refuse_mixture(arguments)
    out = _check_out(arguments.out)
    with count_signals(interrupt):
        folder = find_study(arguments.resume, workspace_of(arguments)) if arguments.resume else None
        try:
            folder = folder or _begin(arguments, interrupt)
            if folder is None:
                say("Nothing was begun.")
                return 130
            plan = folder.plan()
            if arguments.plan:
                return _tell_plan(plan, folder, arguments)
            with folder.claim():
                if not folder.has_begun:  # it was planned some time ago
                    refuse_full_disk(folder.workspace, plan.bytes)
                result = folder.result() or _carry_out(plan, folder, interrupt)
        except Interrupted:
            if folder is None:
                say("Nothing was begun.")
                return 130
            say(f"Stopped; what was done is kept. Go on with: {_word_resume(arguments, folder)}")
            if arguments.json:
                print_json({"study": folder.id, "folder": str(folder.path), "status": "stopped"})
            return 130
    _tell(plan, result, folder, out)
    if arguments.json:
        told = {"study": folder.id, "folder": str(folder.path), "status": "completed"}
        print_json(told | result.model_dump(mode="json"))
    return 0


def _refuse_mixture(arguments: argparse.Namespace) -> None:
    if arguments.resume:
        if arguments.plan:
            raise InputError("--plan: the study is planned already; leave one of --plan and --resume out.")
        if arguments.kind or arguments.config or arguments.overrides:
            raise InputError("--resume: the study knows its kind and configuration; leave them out.")
        return
    if not arguments.kind or not arguments.config:
        raise InputError(
            f"A study takes a kind ({', '.join(STUDY_KINDS)}) and a configuration, or --resume ID.",
            "See python -m training study --help.",
        )


def _check_out(given: str | None) -> Path | None:
    """Where the configuration is to be written. Raises InputError for a file that is there already."""
    if given is None:
        return None
    path = parse_path(given)
    if path.exists():
        raise InputError(f"--out {given}: is there already; choose a file that is not.")
    if not path.absolute().parent.is_dir():
        raise InputError(f"--out {given}: its folder does not exist; make it first.")
    return path


def _begin(arguments: argparse.Namespace, interrupt: Interrupt) -> StudyFolder | None:
    """Plan it, say what it takes, and make its folder; None where the person does not want it."""
    kind: Kind = arguments.kind
    of_kind, config = STUDY_KINDS[kind], load_given(arguments)
    options = _read_options(arguments, kind, of_kind.options)
    say("Measuring some steps ...")
    with Worker(interrupt) as worker:
        cost = Cost.model_validate(worker.ask("cost", settings=config_data(config)))
        draft = of_kind.look(worker.ask, config, options, of_kind.plan(config, options, cost))
    plan = make_plan(kind, config, options, cost, draft)
    for line in plan.words:
        say(line)
    refuse_full_disk(workspace_of(arguments), draft.bytes)
    if not (arguments.yes or arguments.while_held or arguments.plan) and not agree():
        return None
    folder = create_study(workspace_of(arguments), plan)
    say(f"Study {folder.id}")
    return folder


def _read_options(arguments: argparse.Namespace, kind: Kind, taken: frozenset[str]) -> Options:
    given: dict[str, JsonValue] = {
        name: value for name in _OPTIONS if (value := getattr(arguments, name)) not in (None, [])
    }
    for name in given:
        if name not in taken:
            raise InputError(f"--{name.replace('_', '-')}: is not for the study {kind}; leave it out.")
    return given


def _carry_out(plan: Plan, folder: StudyFolder, interrupt: Interrupt) -> Result:
    try:
        result = STUDY_KINDS[plan.kind].carry_out(plan, Trainer(folder, say, interrupt))
    except TrainingError as error:
        folder.write_reached(folder.read_reached().model_copy(update={"problem": error.message}))
        raise
    folder.write_result(result)
    return result


def _tell_plan(plan: Plan, folder: StudyFolder, arguments: argparse.Namespace) -> int:
    say(f"Planned, not begun. Begin with: {_word_resume(arguments, folder)}")
    if arguments.json:
        print_json(
            {
                "study": folder.id,
                "folder": str(folder.path),
                "status": "planned",
                "words": list(plan.words),
                "seconds": plan.seconds,
                "bytes": plan.bytes,
            }
        )
    return 0


def _tell(plan: Plan, result: Result, folder: StudyFolder, out: Path | None) -> None:
    say("")
    for line in (result.sentence, *result.notes):
        say(line)
    if result.adopt:
        words = " ".join(f"--set {shlex.quote(each)}" for each in overrides_of(result.adopt))
        say(f"Adopt: {words}")
    if out is not None:
        if not result.adopt:
            say(f"{out} was not written, since nothing is proposed.")
        else:
            data: dict[str, Toml] = dict(plan.settings)
            apply_overrides(data, overrides_of(result.adopt))
            save_config(parse_config(data, str(out), paths=False), out)
            say(f"Written: {out}")
    tagged = f"Its runs have the tag {folder.id}; the" if "runs" in result.details else "The"
    say(f"{tagged} result is kept in {folder.path}")


def _word_resume(arguments: argparse.Namespace, folder: StudyFolder) -> str:
    words = ["python", "-m", "training", "study", "--resume", folder.id]
    words += ["--workspace", arguments.workspace] if arguments.workspace else []
    return shlex.join(words + (["--out", arguments.out] if arguments.out else []))


def _word_state(study: StudyFolder) -> str:
    """Of one without a result."""
    reached = study.read_reached()
    if study.is_claimed():
        return f"at work: {reached.words}" if reached.words else "at work"
    if not study.has_begun:
        return "planned, not begun"
    return f"failed: {reached.problem}" if reached.problem else "stopped before its end"


def _list(arguments: argparse.Namespace) -> int:
    """Name all studies of the workspace, and what came of them."""
    studies = list_studies(workspace_of(arguments))
    found = [(each, each.result()) for each in studies]
    for each, result in found:
        say(f"{each.id}: {result.sentence if result else _word_state(each)}")
    if not found:
        say(f"There are no studies in {workspace_of(arguments)} yet.")
    if arguments.json:
        told = [{"study": each.id, "folder": str(each.path), "complete": result is not None} for each, result in found]
        print_json({"studies": told})
    return 0
