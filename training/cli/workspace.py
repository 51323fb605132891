"""``python -m training workspace move``: the folder that runs live in, moved."""

from __future__ import annotations

import argparse

from training.cli.options import agree, workspace_of
from training.errors import Canceled
from training.laboratory.child import Interrupt, count_signals
from training.live_line import LiveLine, Part
from training.moving.move import delete_old, finish_move, move_workspace
from training.moving.plan import make_plan
from training.streams import print_json, say
from training.system.untrusted import escape_unprintable
from training.typed_paths import parse_path


def move(arguments: argparse.Namespace) -> int:
    """Say what it takes, and move it; the exit code is 130 where that was canceled."""
    workspace, target = workspace_of(arguments), parse_path(str(arguments.to)).absolute()
    if not workspace.exists() and finish_move(target):  # of a move that was killed just after the folder got its name
        return _say_done(arguments, str(workspace), str(target), kept=False)
    plan = make_plan(workspace, target)
    say(escape_unprintable(f"{workspace} -> {target}: {plan.words}", 1000))
    if arguments.plan or not (arguments.yes or agree()):
        if arguments.json:
            told = {"files": plan.files, "bytes": plan.bytes, "free": plan.free, "same_disk": plan.same_disk}
            print_json({"from": str(workspace), "to": str(target), **told, "moved": False})
        return 0
    interrupt, line = Interrupt(), LiveLine()
    with count_signals(interrupt):
        try:
            kept = move_workspace(plan, lambda progress: line.draw([Part(str(progress))]), lambda: interrupt.asked > 0)
        except Canceled as canceled:
            line.clear()
            say(str(canceled))
            return 130
        finally:
            line.clear()
    if kept and arguments.delete_old:
        delete_old(plan)
        kept = False
    return _say_done(arguments, str(workspace), str(target), kept)


def _say_done(arguments: argparse.Namespace, old: str, new: str, kept: bool) -> int:
    rest = f" The old folder {old} is still there: delete it once you need it no longer." if kept else ""
    words = (
        f"The workspace is {new} now. Have the command line find it with TRAINWRIGHT_WORKSPACE or --workspace, and the window with "
        f"Preferences, Storage.{rest}"
    )
    say(escape_unprintable(words, 1000))
    if arguments.json:
        print_json({"from": old, "to": new, "moved": True, "old_is_there": kept})
    return 0
