"""What can be done with the queue of runs, each told in a notice where it cannot be seen, and undone where something goes away."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from PySide6.QtWidgets import QWidget

from studio.actions.question import MAY_DIFFER, Answer, ask
from studio.state.context import QUEUE, AppContext
from training.config import RunConfig
from training.engines.search import identify, name_environment
from training.errors import InputError, pluralize
from training.queue.entries import ALL_DEVICES, OVER, Entry
from training.queue.overview import Overview, Shown, look_at
from training.queue.start import stop_workers
from training.queue.store import Queue
from training.queue.workers import describe, is_held
from training.runs.owner import Owner

BRANCH = "A branch begins with a checkpoint, which the queue does not keep: start it now, or cancel the branch in the sheet above."
_ADDED = "added to the queue"


def explain_branch(context: AppContext) -> str:
    """Why the draft cannot be queued whatever its settings are; "" where it can."""
    return BRANCH if context.branch is not None else ""


def explain_adding(context: AppContext) -> str:
    """Why the draft, were its settings right, could not be queued now; "" where it could."""
    return explain_branch(context) or context.held


def add_draft(context: AppContext) -> None:
    """Queue what the forms say, as it is now."""
    config, problem = context.draft.config(), explain_adding(context)
    if config is None:
        context.notifier.notify("Some settings need attention before the run can be queued.", "warning")
        context.show_page("setup")
        context.draft.touched.demand()
    elif problem:
        context.notifier.notify(problem, "info")
        context.show_page("setup")
    else:
        python, ranks = context.settings.get().interpreter, context.where.count
        context.queue.submit(
            partial(_add, config, python, ranks), partial(_tell_added, context), partial(complain, context)
        )


def _add(config: RunConfig, python: str, ranks: int, queue: Queue) -> tuple[Entry, Overview]:
    return queue.add(config, python=python, ranks=ranks), look_at(queue)


def _tell_added(context: AppContext, added: tuple[Entry, Overview]) -> None:
    entry, overview = added
    place = next((shown.place for shown in overview.shown if shown.entry.id == entry.id), 0)
    before = pluralize(place - 1, "run")
    words = ["It is trained next." if place == 1 else f"It waits behind {before}." if place else "It has begun."]
    if overview.paused:
        words.append("The queue is paused.")
    elif not overview.workers:
        words.append("Nothing is trained before you start the queue.")
    context.notifier.notify(
        " ".join(words),
        "success",
        title=f"“{entry.name}” is in the queue",
        action_text="Undo",
        action=lambda: _take_out(context, [entry], lambda _gone: None),
        other_text="Show",
        other=lambda: context.show_page(QUEUE),
        subject=_ADDED,
    )


def remove_entries(context: AppContext, chosen: Sequence[Shown]) -> None:
    """Take entries out, with one notice that brings them back."""

    def tell(entries: Sequence[Entry]) -> None:
        runs = [entry for entry in entries if entry.run]
        stays = (
            ("What it trained stays" if len(entries) == 1 else "What they trained stays") + " among the runs."
            if runs
            else ""
        )
        what = f"{pluralize(len(entries), 'run')} are" if len(entries) > 1 else f"“{entries[0].name}” is"
        context.notifier.notify(
            stays or "Nothing was trained yet.",
            title=f"{what} out of the queue",
            action_text="Undo",
            action=lambda: _put_back(context, entries),
            subject=f"removed from the queue {entries[0].id}",
        )

    _take_out(context, [shown.entry for shown in chosen], tell)


def _take_out(context: AppContext, entries: Sequence[Entry], tell: Callable[[Sequence[Entry]], object]) -> None:
    """All of them, or none."""

    def work(queue: Queue) -> list[Entry]:
        with _in_window_words(queue, entries):
            return queue.remove_all([entry.id for entry in entries], partial(_refuse_at_work, queue))

    context.queue.submit(work, lambda gone: tell(gone) if gone else None, partial(complain, context))


def _refuse_at_work(queue: Queue, entry: Entry) -> bool:
    if is_held(queue, entry):
        raise InputError(f"“{entry.name}” has begun; stop its run first.")
    return False


def _put_back(context: AppContext, entries: Sequence[Entry]) -> None:
    def work(queue: Queue) -> None:
        with _in_window_words(queue, entries, "cannot be put back any more."):
            queue.put_back_all([entry.id for entry in entries])

    context.queue.submit(work, lambda _done: None, partial(complain, context))


@contextmanager
def _in_window_words(queue: Queue, entries: Sequence[Entry], problem: str = "") -> Iterator[None]:
    """The queue's own sentences begin with an entry's id, which stands nowhere in the window. ``problem`` is what is wrong with it where
    there is only one thing that can be."""
    try:
        yield
    except InputError as error:
        meant = next((entry for entry in entries if error.message.startswith(f"{entry.id}: ")), None)
        if meant is None:
            raise
        if not problem and meant.id in {entry.id for entry in queue.read().entries}:
            raise InputError(error.message.removeprefix(f"{meant.id}: ")) from error
        raise InputError(f"“{meant.name}” {problem or 'is not in the queue any more.'}") from error


def clear_over(context: AppContext) -> None:
    """Take out all that had their turn."""
    remove_entries(context, context.queue.overview.list_state(*OVER))


def move_entry(context: AppContext, shown: Shown, place: str) -> None:
    """Have an entry wait in another place: "top", "bottom", or a number."""
    _change(context, lambda queue: queue.move(shown.entry.id, place), [shown])


def retry_entries(context: AppContext, chosen: Sequence[Shown], parent: QWidget | None = None) -> None:
    """Have entries wait for another turn; where they are of another engine than the chosen one, ask by which."""
    python, engine = None, _find_other_engine(context, chosen)
    if engine:
        answer = _ask_for_engine(chosen, engine, parent)
        if not answer:
            return
        python = engine if answer == "chosen" else None

    def work(queue: Queue) -> None:
        for shown in chosen:
            queue.retry(shown.entry.id, python)

    _change(context, work, chosen)


def _find_other_engine(context: AppContext, chosen: Sequence[Shown]) -> str:
    """The Python of the engine that is chosen now, where one of ``chosen`` would have its turn by another; else ""."""
    now = context.settings.get().interpreter
    own = {shown.entry.python for shown in chosen} - {""}
    return now if now and any(identify(python) != identify(now) for python in own) else ""


def _ask_for_engine(chosen: Sequence[Shown], now: str, parent: QWidget | None) -> str:
    """ "own", "chosen", or "" for neither; an engine that is gone cannot be chosen."""
    engines = {shown.entry.python: shown.entry.engine for shown in chosen if shown.entry.python}
    gone = [name for python, name in engines.items() if not Path(python).is_file()]
    names, other = " and ".join(sorted(set(engines.values()))), name_environment(Path(now))
    own = Answer("own", f"Retry with {names}" if len(engines) == 1 else "Retry each with its own", "primary")
    take = Answer("chosen", f"Retry with {other}", "primary" if gone else "secondary")
    title = f"The engine {gone[0]} is gone" if gone else f"Retry with the engine {names}?"
    text = f"Queued for {names}. {other} ({now}) is in use now. {MAY_DIFFER}"
    return ask(parent, title, text, [take] if gone else [own, take])


def stop_run(context: AppContext, shown: Shown) -> None:
    """Stop and keep one run, and go on with the next."""
    _change(context, lambda queue: queue.stop(shown.entry.id, partial(is_held, queue)), [shown])


def set_paused(context: AppContext, paused: bool) -> None:
    """Have nothing more begun, or go on."""
    _change(context, lambda queue: queue.set_paused(paused))


def start_worker(context: AppContext, device: str) -> None:
    """Have the queue worked off by a process of its own."""

    def tell(owner: Owner | None) -> None:
        if owner is None:
            context.notifier.notify(f"Nothing waits that could be trained on {describe(device)}.", "info")

    context.queue.start(device, tell, partial(complain, context))


def stop_worker(context: AppContext, device: str) -> None:
    """End the worker of ``device``; its run is kept, and stays the first."""

    def tell(owners: Sequence[Owner]) -> None:
        if owners:
            context.notifier.notify(
                "A run at work stops after its step, is kept, and stays the first.", title="The queue is being stopped"
            )

    context.queue.submit(lambda queue: stop_workers(queue, device), tell, partial(complain, context))


def go_on(context: AppContext) -> None:
    """Have everything worked off, by processes for the same devices as before where some were interrupted, and end a pause."""
    if context.queue.overview.paused:
        set_paused(context, False)
    gone = {shown.entry.worker for shown in context.queue.overview.list_state("interrupted")}
    for device in sorted(gone) or [ALL_DEVICES]:
        start_worker(context, device)


def complain(context: AppContext, error: Exception) -> None:
    """Something could not be done."""
    context.notifier.notify(str(error), "danger", title="The queue cannot do that")


def _change(context: AppContext, work: Callable[[Queue], object], chosen: Sequence[Shown] = ()) -> None:
    def change(queue: Queue) -> None:
        with _in_window_words(queue, [shown.entry for shown in chosen]):
            work(queue)

    context.queue.submit(change, lambda _done: None, partial(complain, context))
