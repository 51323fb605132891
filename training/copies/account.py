"""How far a run is copied: a small file in its folder, for those who ask; what counts is what lies at the far end."""

from __future__ import annotations

import secrets
from collections.abc import Iterator

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from training.copies.plan import choose_checkpoints
from training.copies.settings import load_copy_settings
from training.errors import format_bytes, pluralize
from training.runs.folder import RunFolder, read_json
from training.system.atomic import write_text

_FILE = "account.json"


class Account(BaseModel):
    """``to``: the address below which the run has its folder. ``writer``: this folder of the run among others of its name."""

    model_config = ConfigDict(validate_assignment=True)

    to: str = ""
    writer: str = Field(default_factory=lambda: secrets.token_hex(8))
    keep: str = "labeled"
    checkpoints: list[str] = []
    step: int = 0
    size: int = 0
    ended: str = ""
    problem: str = ""

    def save(self, folder: RunFolder) -> None:
        """Keep it in the run's folder."""
        folder.copies.mkdir(exist_ok=True)
        write_text(folder.copies / _FILE, self.model_dump_json(indent=1) + "\n")

    def describe(self, folder: RunFolder) -> str:
        """What the copy has of the run in ``folder``, what waits, and what went wrong."""
        count, waiting = len(self.checkpoints), self.count_waiting(folder)
        has = (
            f"{pluralize(count, 'checkpoint')}, to step {self.step:,}, {format_bytes(self.size)}"
            if self.size
            else "nothing yet"
        )
        waits = f"; {pluralize(waiting, 'checkpoint')} to be copied" if waiting else ""
        problem = f"; {self.problem}" if self.problem else ""
        return f"{self.to}/{folder.id}: {has}{waits}{problem}"

    def count_waiting(self, folder: RunFolder) -> int:
        """How many checkpoints are still to be copied."""
        return len(set(choose_checkpoints(folder, self.keep)) - set(self.checkpoints))


def read_account(folder: RunFolder) -> Account:
    """As it was kept; a new one where there is none that can be read."""
    try:
        return Account.model_validate(read_json(folder.copies / _FILE))
    except ValidationError:
        return Account()


def choose_address(folder: RunFolder, given: str = "") -> str:
    """Where the run is copied to: as ``given``, as before, or as the person has all runs copied; "" for nowhere. Raises InputError."""
    return given or read_account(folder).to or load_copy_settings().to


def describe_copy(folder: RunFolder) -> Iterator[str]:
    """The line of a run that is copied."""
    account = read_account(folder)
    if account.to:
        yield f"copy       {account.describe(folder)}"
