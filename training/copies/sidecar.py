"""A run copied by a process that follows it, or for a person."""

from __future__ import annotations

import shlex
import time

from training.copies.account import Account, choose_address, read_account
from training.copies.copier import Copier
from training.copies.settings import load_copy_settings, parse_address
from training.errors import InputError, TrainingError, pluralize
from training.runs.folder import RunFolder
from training.sidecars.faults import Refused
from training.sidecars.process import Say, be_alone, start_process, work_until_done

_LONGEST_REST = 60.0  # seconds


def start_copier(folder: RunFolder, to: str) -> None:
    """Begin the process that copies the run to the address ``to``, else where it was copied to before or where the person has all
    runs copied; none where that is nowhere. Raises InputError for an address or settings that cannot be used, OSError where no
    process can be begun."""
    if not (address := choose_address(folder, to)):
        return
    address = parse_address(address)
    if read_account(folder).to != address:  # which is known from now on, whatever becomes of the process
        Account(to=address).save(folder)
    start_process("copy", folder, ["--to", address])


def copy(folder: RunFolder, to: str, follow: bool, say: Say, patience: float) -> bool:
    """Copy the run, as long as it is at work where ``follow`` says so, and then for ``patience`` seconds more where the far end is
    away. Returns whether all is there."""
    address = choose_address(folder, to)
    if not address:
        raise InputError("No address is given; name one with --to s3://bucket/folder, or write it into copies.toml.")
    address = parse_address(address)
    with be_alone(folder.copies, follow):
        account = read_account(folder)
        if account.to != address:  # nothing is there yet
            account = Account(to=address)
        account.keep, account.ended = load_copy_settings().keep, ""
        account.save(folder)
        return _deliver(folder, account, follow, say, patience)


def _deliver(folder: RunFolder, account: Account, follow: bool, say: Say, patience: float) -> bool:
    copier, rest, next_try = Copier(folder, account), 1.0, 0.0

    def copy_new(ended: str) -> bool:
        nonlocal rest, next_try
        if time.monotonic() < next_try:
            return False
        try:
            copier.bring_up_to_date(ended)
        except TrainingError as error:
            copier.disconnect()
            next_try, rest = time.monotonic() + rest, min(2 * rest, _LONGEST_REST)
            _note(folder, account, str(error))
            return isinstance(error, Refused)  # which ends it as soon as the run has ended
        rest = 1.0
        _note(folder, account, "")
        return True

    work_until_done(folder, follow, patience, copy_new)
    where = f"{account.to}/{folder.id}"
    if not account.problem:
        say(f"{where}: all is copied ({pluralize(len(account.checkpoints), 'checkpoint')}).")
        return True
    again = f"python -m training copy {shlex.quote(str(folder.path))} --to {shlex.quote(account.to)}"
    waiting = pluralize(account.count_waiting(folder), "checkpoint")
    say(f"{account.problem} {waiting} to be copied; do it with: {again}")
    return False


def _note(folder: RunFolder, account: Account, problem: str) -> None:
    if account.problem != problem:
        account.problem = problem
        account.save(folder)
