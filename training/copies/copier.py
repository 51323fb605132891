"""A run's copy brought up to date: checkpoints one by one, then what says that they count, then away with what does not."""

from __future__ import annotations

import time

from training.copies.account import Account
from training.copies.places import open_store
from training.copies.plan import checkpoint_sources, choose_checkpoints, find_pinned, pin, take_records, unpin
from training.copies.record import RECORD, CopyRecord, is_own_key, key_of, read_record
from training.copies.store import Store
from training.errors import CheckpointError
from training.runs.folder import RunFolder
from training.runs.records.forms import FileFacts
from training.runs.records.manifest import checkpoint_folders, checkpoint_step, read_manifest
from training.sidecars.faults import Refused


class Copier:
    """Copies the run in ``folder`` to where ``account`` says."""

    def __init__(self, folder: RunFolder, account: Account) -> None:
        self._folder, self._account = folder, account
        self._store: Store | None = None
        self._record: CopyRecord | None = None
        self._damaged: dict[str, str] = {}
        """Checkpoints that cannot be copied, and why."""

    def bring_up_to_date(self, ended: str) -> None:
        """Copy what is not there yet; ``ended`` is how the run ended, "" while it is at work: then nothing is asked of the far end
        unless there is a new checkpoint. Raises Away and Refused."""
        if not ended and not self._find_next():
            return
        store = self._store or self._open()
        self._store = store
        while name := self._find_next():
            self._copy_checkpoint(store, name)
        if ended:
            self._write_record(store, {}, ended)
        store.remove([key for key in store.list_keys() if is_own_key(key) and key not in self._keys_in_use()])
        store.drop_leftovers()
        if self._damaged:
            raise Refused(next(iter(self._damaged.values())))

    def disconnect(self) -> None:
        """Look at the far end afresh the next time."""
        self._store = None

    def _open(self) -> Store:
        store = open_store(self._account.to, self._folder.id)
        record = read_record(store)
        step = self._folder.read_status().step
        if record is not None and record.writer != self._account.writer and record.step > step:
            raise Refused(
                f"{store.address}: holds a copy of this run from another folder, which has come to step {record.step:,} (this one to "
                f"{step:,}); fetch that one, or choose another address."
            )
        self._record = record
        self._account.checkpoints = record.checkpoints if record else []
        return store

    def _find_next(self) -> str:
        """The checkpoint to copy now: what a kill interrupted, else by its label; "" where all are there."""
        pinned = find_pinned(self._folder)
        if pinned is not None:
            return pinned.name
        wanted = choose_checkpoints(self._folder, self._account.keep)
        return next((name for name in wanted if name not in self._damaged and not self._holds(name)), "")

    def _holds(self, name: str) -> bool:
        """Whether the copy has the checkpoint, with the same files: a step may have been made again."""
        if name not in self._account.checkpoints:
            return False
        if self._record is None:  # nobody was asked yet
            return True
        try:
            files = read_manifest(self._folder.checkpoints / name).files
        except CheckpointError:  # deleted by the run
            return True
        held = self._record.files_of(name)
        return all(held.get(f"checkpoints/{name}/{file}") == facts for file, facts in files.items())

    def _copy_checkpoint(self, store: Store, name: str) -> None:
        pinned = find_pinned(self._folder) or pin(self._folder, name)
        if pinned is None:
            if (self._folder.checkpoints / name).is_dir():  # else the run has deleted it
                self._damaged[name] = f"{self._folder.checkpoints / name}: cannot be read; it is not copied."
            return
        if self._record is not None and name in self._record.checkpoints:  # what it says of that is true no more
            self._write_record(store, {}, "", without=name)
        try:
            files = {}
            for key, source in checkpoint_sources(pinned):
                store.send(key, source)
                files[key] = source.facts
        except CheckpointError as error:
            self._damaged[name] = str(error)
            unpin(self._folder)
            return
        self._write_record(store, files, "")
        unpin(self._folder)

    def _write_record(self, store: Store, new: dict[str, FileFacts], ended: str, without: str = "") -> None:
        """Say what the copy has from now on: the checkpoints it had, but for those that are not to be kept, and ``new``."""
        before = self._record
        held = {**(before.files if before else {}), **new}
        names = {name.split("/")[1] for name in held if "/" in name} - {without}
        names &= self._keep(names)
        records = take_records(self._folder, names)
        for name, source in records.items():
            if before is None or before.files.get(name) != source.facts:
                store.send(key_of(name, source.facts), source)
        checkpoints = {name: facts for name, facts in held.items() if "/" in name and name.split("/")[1] in names}
        status = self._folder.read_status()
        record = CopyRecord(
            run=self._folder.id,
            writer=self._account.writer,
            time=time.time(),
            created=status.created,
            step=status.step,
            ended=ended,
            files={**{name: source.facts for name, source in records.items()}, **checkpoints},
        )
        store.replace(RECORD, record.encode())
        self._record, account = record, self._account
        account.checkpoints, account.step, account.size, account.ended = (
            record.checkpoints,
            record.step,
            record.size,
            ended,
        )
        account.save(self._folder)

    def _keep(self, held: set[str]) -> set[str]:
        """Those of ``held`` that stay: none of a stretch that the run has left behind, and the labeled ones alone as soon as all of
        those are there."""
        here = [checkpoint_step(path) for path in checkpoint_folders(self._folder)]
        behind = {name for name in held if not here or int(name.removeprefix("step-")) <= max(here)}
        wanted = set(choose_checkpoints(self._folder, self._account.keep))
        return wanted if self._account.keep == "labeled" and wanted and wanted <= behind else behind

    def _keys_in_use(self) -> set[str]:
        return {key_of(name, facts) for name, facts in (self._record.files if self._record else {}).items()}
