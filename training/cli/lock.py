"""``python -m training lock``: a requirements file of what a run was computed with, by digests."""

from __future__ import annotations

import argparse

from training.cli.options import workspace_of
from training.errors import InputError
from training.runs.records.environment import newest_environment
from training.runs.records.history import read_history
from training.runs.records.packages import read_packages
from training.runs.workspace import find_run
from training.streams import print_json, say, write_out
from training.system.atomic import write_text
from training.system.pip_settings import read_pip_settings


def lock_run(arguments: argparse.Namespace) -> int:
    """Write the file, or print it; the exit code is 1 where it is not all of the environment."""
    folder = find_run(arguments.run, workspace_of(arguments))
    environment = newest_environment(folder, read_history(folder.events_file).attempts)
    packages = read_packages(folder, environment)
    try:
        from training.requirements.indexes import find_releases
        from training.requirements.lock import describe, needs_index, write_lock
        from training.requirements.markers import find_markers
    except ModuleNotFoundError as error:
        raise InputError(
            f"{error.name} is missing, which reads package indexes: pip install 'trainwright[lock]'."
        ) from error

    asked = [package for package in packages if needs_index(package)]
    say(f"Asking the package index for the digests of {len(asked)} packages.")
    lock = write_lock(
        folder.id, environment, packages, find_releases(asked, read_pip_settings()), find_markers(packages)
    )
    if arguments.out is not None:
        try:
            write_text(arguments.out, lock.text)
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"{arguments.out}: cannot be written ({reason}); choose another place.") from error
    elif not arguments.json:
        write_out(lock.text)
    for told in (*lock.notes, *(f"Not in it: {item}." for item in lock.left_out)):
        say(told)
    say(f"{describe(lock)}{f' in {arguments.out}' if arguments.out else ''}.")
    if arguments.json:
        left_out = [
            {"name": item.package.name, "version": item.package.version, "reason": item.reason, "remedy": item.remedy}
            for item in lock.left_out
        ]
        written = {"out": str(arguments.out)} if arguments.out else {"text": lock.text}
        counts = {"packages": lock.packages, "digests": lock.digests, "complete": lock.complete}
        print_json({"run": folder.id, **written, **counts, "left_out": left_out, "notes": lock.notes})
    return 0 if lock.complete else 1
