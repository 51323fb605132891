"""``python -m training engines``: the Pythons that can train here."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from training.cli.options import agree, workspace_of
from training.engines.change import add_engine as remember_engine
from training.engines.change import remove_engine as take_out
from training.engines.install import Unfinished, discard, install, list_unfinished, refuse
from training.engines.kinds import estimate_size, look_at_this_machine
from training.engines.of_runs import require_rest
from training.engines.overview import (
    STATES,
    Engine,
    explain_origin,
    find_engine,
    find_interpreter,
    look_at,
    look_at_engines,
)
from training.engines.request import Progress, Request
from training.engines.search import Found
from training.engines.trial import try_and_keep
from training.errors import InputError, list_first
from training.laboratory.child import Interrupt, count_signals
from training.live_line import LiveLine, Part
from training.queue.of_engines import name_dependents
from training.streams import print_json, say, write_out
from training.system.untrusted import escape_unprintable

_MOST_NAMED = 5


def list_engines(arguments: argparse.Namespace) -> int:
    """Tell what there is."""
    engines = look_at_engines()
    if arguments.try_all:
        engines = [engine if engine.answer is not None else _try(engine.found) for engine in engines]
    unfinished = list_unfinished()
    if arguments.json:
        print_json(
            {
                "engines": [each.dump() for each in engines],
                "unfinished": [each.model_dump(mode="json") for each in unfinished],
            }
        )
        return 0
    shown = [each for each in engines if arguments.all or each.verdict is None or each.can_train]
    lines = [line for each in shown for line in _describe(each)] + [_describe_unfinished(each) for each in unfinished]
    if not shown:
        lines.append("No Python that can train was found. Install an engine: python -m training engines install cpu")
    if hidden := len(engines) - len(shown):
        lines.append(f"{hidden} more cannot train; --all tells why.")
    write_out("".join(f"{escape_unprintable(line, 1000)}\n" for line in lines))
    return 0


def try_engine(arguments: argparse.Namespace) -> int:
    """Try one; the exit code is 1 where it cannot train."""
    return _tell(_try(find_engine(arguments.engine)), arguments.json)


def add_engine(arguments: argparse.Namespace) -> int:
    """Add one, whatever it can: it may be mended."""
    python = find_interpreter(arguments.engine)
    found = find_engine(str(python))
    if found.origin == "added":
        remember_engine(python)
    return _tell(_try(found), arguments.json)


def remove_engine(arguments: argparse.Namespace) -> int:
    """Delete, forget or discard one."""
    if any(each.request.title == arguments.engine for each in list_unfinished()):
        discard(arguments.engine)
        say(f"Discarded what there was of {arguments.engine}.")
    else:
        found = find_engine(arguments.engine)
        require_rest(found, workspace_of(arguments))
        needed = name_dependents(found, workspace_of(arguments))
        words = []
        if needed.unfinished:
            words.append(
                f"Unfinished runs were computed by {found.name}: {list_first(needed.unfinished[:_MOST_NAMED], len(needed.unfinished))}; they can be resumed by "
                "another engine, but may differ in the last bits."
            )
        if needed.waiting:
            words.append(
                f"The queue has runs for {found.name}: {list_first(needed.waiting[:_MOST_NAMED], len(needed.waiting))}; without it they are passed over."
            )
        if words and not arguments.yes:
            raise InputError(" ".join(words), "Remove it all the same with --yes.")
        take_out(found)
        say(f"Removed {found.name}.")
    if arguments.json:
        print_json({"removed": arguments.engine})
    return 0


def install_engine(arguments: argparse.Namespace) -> int:
    """Install one; the exit code is 1 where another build came than was asked for, 130 where it was canceled."""
    request = Request(
        kind=arguments.kind,
        name=arguments.name,
        index=arguments.index,
        proxy=arguments.proxy,
        wheels=arguments.wheels,
        python=arguments.python,
    )
    machine = look_at_this_machine()
    refuse(request, machine, arguments.anyway)
    say(f"{request.sort.title}: {request.announce(machine)}")
    if arguments.plan and arguments.json:
        size = estimate_size(request.sort, machine)
        print_json({"from": request.list_sources(machine), "download": size.download, "disk": size.disk})
    if arguments.plan or not (arguments.yes or agree()):
        return 0
    interrupt, line = Interrupt(), LiveLine()
    with count_signals(interrupt):
        try:
            installed = install(request, _show(line), lambda: interrupt.asked > 0, machine, arguments.anyway)
        finally:
            line.clear()
    say(f"Installed {installed.name}: torch {installed.torch} ({installed.build}), {installed.python}")
    if installed.told:
        say(installed.told)
    if arguments.json:
        print_json(installed.model_dump(mode="json"))
    return 1 if installed.told else 0


def _show(line: LiveLine) -> Callable[[Progress], None]:
    """On a terminal a line that changes; elsewhere one for each stage."""
    stages: list[str] = []

    def report(progress: Progress) -> None:
        if not line.is_possible and progress.stage not in stages:
            stages.append(progress.stage)
            say(str(progress))
        line.draw([Part(str(progress))])

    return report


def _try(found: Found) -> Engine:
    try_and_keep(found.python)
    return look_at(found)


def _tell(engine: Engine, as_json: bool) -> int:
    write_out("".join(f"{escape_unprintable(line, 1000)}\n" for line in _describe(engine)))
    if as_json:
        print_json(engine.dump())
    return 0 if engine.can_train else 1


def _describe(engine: Engine) -> list[str]:
    state = STATES[engine.verdict.state] if engine.verdict else "not tried yet"
    lines = [f"{engine.found.name}: {state}  ({explain_origin(engine.found)}, {engine.python})"]
    details = [engine.describe(), engine.told]
    if engine.verdict is not None:
        details += [engine.verdict.problem, engine.verdict.remedy, *engine.verdict.lacks]
    return lines + [f"    {each}" for each in details if each]


def _describe_unfinished(each: Unfinished) -> str:
    if each.is_busy:
        return f"{each.request.title}: is being installed  ({each.progress})"
    return (
        f"{each.request.title}: not finished; {each.progress.tell_past()}. Install it once more to go on, or remove it."
    )
