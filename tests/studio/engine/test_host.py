"""The engine host against a process that behaves like the engine: every ending, and who is told what."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest
from pytestqt.qtbot import QtBot

from studio.engine.host import EngineHost
from studio.engine.in_place import InPlaceLink
from studio.engine.link import EngineChoice
from studio.engine.messages import EngineDeath, EngineState
from tests.studio.conftest import ENDLESS, MakeHost
from training.config import RunConfig
from training.config.files import config_data
from training.control import Command, send
from training.protocol.answers import DatasetReport, Findings, ModelSummary, SampleDigests, SamplePage
from training.protocol.messages import (
    BrowseSamples,
    CheckRequest,
    DigestSamples,
    InspectDataset,
    Interrupt,
    Refusal,
    SummarizeModel,
)
from training.runs.folder import RunFolder, owner_of

MakeConfig = Callable[..., RunConfig]


class Ears:
    """Everything a host said, in order."""

    def __init__(self, host: EngineHost) -> None:
        self.heard: list[tuple[str, Any]] = []
        host.run_started.connect(lambda folder: self.heard.append(("started", folder)))
        host.run_finished.connect(lambda record: self.heard.append(("finished", record)))
        host.run_refused.connect(lambda refusal: self.heard.append(("refused", refusal)))
        host.engine_died.connect(lambda death: self.heard.append(("died", death)))

    def kinds(self) -> list[str]:
        return [kind for kind, _value in self.heard]

    def last(self, kind: str) -> Any:
        return next(value for heard, value in reversed(self.heard) if heard == kind)


def children() -> set[int]:
    """The processes that this one started."""
    return {child.pid for child in psutil.Process().children(recursive=True)}


def ready(qtbot: QtBot, host: EngineHost) -> None:
    qtbot.waitUntil(lambda: host.state is EngineState.READY)


def test_a_run_is_started_and_finished_and_the_engine_renewed(
    qtbot: QtBot, make_host: MakeHost, config: MakeConfig, workspace: Path
) -> None:
    host = make_host()
    ears = Ears(host)
    ready(qtbot, host)
    assert str(host.info) == "CPU · PyTorch 2.0.fake"
    host.run(config_data(config()), workspace)
    assert host.training
    qtbot.waitUntil(lambda: "finished" in ears.kinds())
    assert ears.kinds() == ["started", "finished"]
    assert ears.last("finished").status == "completed"
    assert not host.training
    first = ears.last("finished")
    ready(qtbot, host)
    host.run(config_data(config()), workspace)
    qtbot.waitUntil(lambda: ears.kinds().count("finished") == 2)
    assert ears.last("finished").run != first.run


def test_relative_paths_lead_from_the_folder_of_the_window(
    qtbot: QtBot,
    make_host: MakeHost,
    config: MakeConfig,
    workspace: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "here" / "pictures").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here")
    told = config(dataset={"kind": "image_folder", "path": "pictures"}, loader={"cache_folder": "kept"}, epochs=1)
    host = make_host()  # whose engine works in the home folder
    ears = Ears(host)
    ready(qtbot, host)
    host.run(config_data(told), workspace)
    qtbot.waitUntil(lambda: "finished" in ears.kinds())
    ran: dict[str, Any] = config_data(RunFolder(ears.last("started")).config())
    assert ran["dataset"]["path"] == str(tmp_path / "here" / "pictures")
    assert ran["loader"]["cache_folder"] == str(tmp_path / "here" / "kept")


def test_an_engine_that_is_fit_for_the_next_run_stays(
    qtbot: QtBot, make_host: MakeHost, config: MakeConfig, workspace: Path
) -> None:
    others = children()  # that earlier tests left
    host = make_host()
    ears = Ears(host)
    ready(qtbot, host)
    engine = children() - others
    assert len(engine) == 1
    states: list[EngineState] = []
    host.state_changed.connect(states.append)
    for runs in (1, 2):
        host.run(config_data(config("again", epochs=3)), workspace)
        qtbot.waitUntil(lambda: ears.kinds().count("finished") == runs)  # noqa: B023 - waited for here
        assert host.state is EngineState.READY
        assert children() - others == engine
    assert EngineState.STARTING not in states
    # It stays as long as it is the engine that is wished for.
    host.run(config_data(config("again", epochs=3)), workspace)
    qtbot.waitUntil(lambda: ears.kinds().count("started") == 3)
    host.choose(EngineChoice("/another/python"))
    qtbot.waitUntil(lambda: ears.kinds().count("finished") == 3)
    assert EngineState.STARTING in states


@pytest.mark.skipif(sys.platform == "win32", reason="niceness is POSIX's word for it")
def test_the_engine_that_answers_beside_a_run_gives_way_to_it(
    qtbot: QtBot, make_host: MakeHost, config: MakeConfig, workspace: Path
) -> None:
    others = children()  # that earlier tests left
    host = make_host()
    ears = Ears(host)
    ready(qtbot, host)
    before = psutil.Process().nice()
    host.run(config_data(config("again", epochs=ENDLESS, milliseconds=5)), workspace)
    qtbot.waitUntil(lambda: "started" in ears.kinds())
    answers: list[DatasetReport] = []
    host.ask(
        InspectDataset(config={"name": "lab"}), DatasetReport, answers.append, lambda refusal: pytest.fail(str(refusal))
    )
    qtbot.waitUntil(lambda: bool(answers))
    owner = owner_of(RunFolder(ears.last("started")).path)
    assert owner is not None
    worker = owner.pid
    engines = [child for child in psutil.Process().children(recursive=True) if child.pid not in others]
    niceness = {engine.pid: engine.nice() for engine in engines}
    assert niceness.pop(worker) == before
    assert list(niceness.values()) == [max(before, 10)]
    send(ears.last("started"), Command.STOP)
    qtbot.waitUntil(lambda: "finished" in ears.kinds())
    qtbot.waitUntil(lambda: children() - others == {worker})


def test_a_run_asked_for_while_the_engine_warms_up_begins_when_it_is_warm(
    qtbot: QtBot, make_host: MakeHost, config: MakeConfig, workspace: Path
) -> None:
    host = make_host()
    ears = Ears(host)
    assert host.state is EngineState.STARTING
    host.run(config_data(config()), workspace)
    qtbot.waitUntil(lambda: ears.kinds() == ["started", "finished"])


def test_a_second_run_is_refused_while_one_is_trained(
    qtbot: QtBot, make_host: MakeHost, config: MakeConfig, workspace: Path
) -> None:
    host = make_host()
    ears = Ears(host)
    host.run(config_data(config(epochs=ENDLESS, milliseconds=20)), workspace)
    qtbot.waitUntil(lambda: "started" in ears.kinds())
    host.run(config_data(config()), workspace)
    assert ears.kinds() == ["started", "refused"]
    send(ears.last("started"), Command.STOP)
    qtbot.waitUntil(lambda: "finished" in ears.kinds())
    assert ears.last("finished").status == "stopped"


def test_a_refusal_names_the_settings(qtbot: QtBot, make_host: MakeHost, config: MakeConfig, workspace: Path) -> None:
    host = make_host()
    ears = Ears(host)
    host.run(config_data(config("refused")), workspace)
    qtbot.waitUntil(lambda: "refused" in ears.kinds())
    refusal: Refusal = ears.last("refused")
    assert refusal.message == "No such optimizer."
    assert [str(problem) for problem in refusal.problems] == ["optimizer.lr: is wrong."]
    assert not host.training


def test_an_engine_killed_while_training_is_mourned_and_replaced(
    qtbot: QtBot, make_host: MakeHost, config: MakeConfig, workspace: Path
) -> None:
    host = make_host()
    ears = Ears(host)
    host.run(config_data(config("dies")), workspace)
    qtbot.waitUntil(lambda: "died" in ears.kinds())
    assert ears.kinds() == ["started", "died"]
    death: EngineDeath = ears.last("died")
    assert "SIGKILL" in death.sentence
    assert not host.training
    ready(qtbot, host)
    host.run(config_data(config()), workspace)
    qtbot.waitUntil(lambda: "finished" in ears.kinds())


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        (
            [sys.executable, "-c", """raise ModuleNotFoundError("No module named 'torch'")"""],
            "PyTorch is not installed in the engine's Python",
        ),
        ([sys.executable, "-c", "raise SystemExit(7)"], "ended unexpectedly (exit code 7)"),
        ([sys.executable, "-c", "import os; os.abort()"], "crashed in native code (SIGABRT)"),
        ([sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"], "native code (SIGSEGV)"),
        ([sys.executable, "-c", "raise ValueError('the moon is full')"], "ValueError: the moon is full"),
        (["/no/such/python"], "could not be started"),
    ],
)
def test_an_engine_that_cannot_start_says_why(
    qtbot: QtBot, make_host: MakeHost, command: list[str], sentence: str
) -> None:
    host = make_host(command)
    ears = Ears(host)
    qtbot.waitUntil(lambda: "died" in ears.kinds())
    assert sentence in ears.last("died").sentence
    assert host.state is EngineState.DEAD
    refusals: list[Refusal] = []
    host.ask(CheckRequest(config={}), Findings, lambda result: None, refusals.append)
    assert sentence in refusals[0].message


def test_another_interpreter_is_taken_at_once(qtbot: QtBot, make_host: MakeHost, tmp_path: Path) -> None:
    host = make_host(python=str(tmp_path / "python"))
    ears = Ears(host)
    qtbot.waitUntil(lambda: host.state is EngineState.DEAD)
    host.choose(EngineChoice(str(tmp_path / "another")))
    qtbot.waitUntil(lambda: len(ears.heard) == 2)
    assert str(tmp_path / "another") in ears.last("died").sentence


def test_text_that_a_library_prints_is_passed_over(
    qtbot: QtBot, make_host: MakeHost, config: MakeConfig, workspace: Path
) -> None:
    host = make_host()
    ears = Ears(host)
    host.run(config_data(config("prints")), workspace)
    qtbot.waitUntil(lambda: ears.kinds() == ["started", "finished"])


def test_the_newer_of_two_inquiries_wins(qtbot: QtBot, make_host: MakeHost) -> None:
    host = make_host()
    answers: list[Any] = []
    refusals: list[Refusal] = []
    for name in ("first", "slow", "third"):
        host.ask(InspectDataset(config={"name": name}), DatasetReport, answers.append, refusals.append)
    host.ask(SummarizeModel(config={"name": "model"}), ModelSummary, answers.append, refusals.append)
    canceled = host.ask(CheckRequest(config={"name": "check"}), Findings, answers.append, refusals.append)
    canceled.cancel()
    qtbot.waitUntil(lambda: len(answers) == 2)
    assert [answer.notes for answer in answers] == [("third",), ("model",)]
    host.ask(InspectDataset(config={"name": "refused"}), DatasetReport, answers.append, refusals.append)
    qtbot.waitUntil(lambda: len(refusals) == 1)
    assert refusals[0].problems[0].path == "dataset.kind"


def test_pages_that_ask_for_samples_at_a_time_are_all_answered(qtbot: QtBot, make_host: MakeHost) -> None:
    """The engine is busy with the first of them when the others are asked."""
    host = make_host()
    heard: list[str] = []
    refusals: list[Refusal] = []

    def note(word: str) -> Callable[[Any], object]:
        return lambda _found: heard.append(word)

    for page in ("Setup", "Data"):
        request = BrowseSamples(config={"name": "slow"})
        host.ask(request, SamplePage, note(page), refusals.append)
    for number in (1, 2):
        digest = DigestSamples(config={}, numbers=(number,))
        host.ask(digest, SampleDigests, note(f"{number}"), refusals.append)
    qtbot.waitUntil(lambda: len(heard) + len(refusals) == 4)
    assert heard == ["Setup", "Data", "1", "2"]


def test_inquiries_are_answered_while_a_run_is_trained(
    qtbot: QtBot, make_host: MakeHost, config: MakeConfig, workspace: Path
) -> None:
    host = make_host()
    ears = Ears(host)
    host.run(config_data(config(epochs=ENDLESS, milliseconds=50)), workspace)
    qtbot.waitUntil(lambda: "started" in ears.kinds())
    answers: list[Any] = []
    host.ask(InspectDataset(config={"name": "beside"}), DatasetReport, answers.append, lambda refusal: None)
    qtbot.waitUntil(lambda: len(answers) == 1)
    assert host.training
    send(ears.last("started"), Command.STOP)
    qtbot.waitUntil(lambda: "finished" in ears.kinds())


def test_an_inquiry_hears_of_the_engines_death(qtbot: QtBot, make_host: MakeHost) -> None:
    host = make_host()
    ready(qtbot, host)
    refusals: list[Refusal] = []
    host.ask(InspectDataset(config={"name": "slow"}), DatasetReport, lambda result: None, refusals.append)
    host.kill()
    qtbot.waitUntil(lambda: len(refusals) == 1)
    assert "SIGKILL" in refusals[0].message


def test_shutting_down_while_training_stops_and_keeps(
    qtbot: QtBot, make_host: MakeHost, config: MakeConfig, workspace: Path
) -> None:
    host = make_host()
    ears = Ears(host)
    host.run(config_data(config(epochs=ENDLESS, milliseconds=20)), workspace)
    qtbot.waitUntil(lambda: "started" in ears.kinds())
    folder = RunFolder(ears.last("started"))
    qtbot.waitUntil(lambda: folder.series_file.exists() and folder.status().status == "running")
    with qtbot.waitSignal(host.shut_down):
        host.shutdown()
    assert not host.threads_running
    assert folder.status().status == "stopped"
    assert list(folder.checkpoints.iterdir())


def test_a_detached_run_outlives_its_host(
    qtbot: QtBot, make_host: MakeHost, config: MakeConfig, workspace: Path
) -> None:
    host = make_host()
    ears = Ears(host)
    host.run(config_data(config(epochs=ENDLESS, milliseconds=20)), workspace)
    qtbot.waitUntil(lambda: "started" in ears.kinds())
    folder = RunFolder(ears.last("started"))
    qtbot.waitUntil(lambda: folder.status().status == "running")
    agreed: list[bool] = []
    host.detach(lambda: agreed.append(True))
    qtbot.waitUntil(lambda: agreed == [True])
    with qtbot.waitSignal(host.shut_down):
        host.shutdown()
    host.kill()  # even an impatient end must leave it alone
    owner = owner_of(folder.path)
    assert owner is not None
    assert folder.status().status == "running"
    send(folder.path, Command.STOP)
    qtbot.waitUntil(lambda: not psutil.pid_exists(owner.pid))
    assert folder.status().status == "stopped"


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_hanging_engine_is_terminated_then_killed(qtbot: QtBot, make_host: MakeHost, tmp_path: Path) -> None:
    script = (
        "import json, pathlib, signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: pathlib.Path(sys.argv[1]).touch())\n"
        "print(json.dumps({'id': 0, 'reply': 'ready', 'torch': '', 'devices': []}), flush=True)\n"
        "while True: time.sleep(60)"
    )
    host = make_host([sys.executable, "-c", script, str(tmp_path / "asked")])
    ready(qtbot, host)
    refusals: list[Refusal] = []
    host.ask(
        InspectDataset(config={}), DatasetReport, lambda result: None, refusals.append
    )  # it is at work now: an idle one is killed at once
    with qtbot.waitSignal(host._pool.main.closed):
        host._pool.main.close(terminate_after=100, kill_after=2000)
    assert len(refusals) == 1
    assert (tmp_path / "asked").exists()


def test_an_engine_inside_the_window_hears_an_interruption_while_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[int] = []

    def serve(requests: object, reply: object, offer_interrupt: Callable[[Callable[[int], None]], object]) -> None:
        offer_interrupt(heard.append)

    monkeypatch.setattr("training.serve.serve", serve)
    link = InPlaceLink()
    assert link.run(lambda reply: None) is None
    link.send(Interrupt(target=3))
    assert heard == [3]
