"""A profile asked of a real engine through the window."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pytestqt.qtbot import QtBot

from studio.engine.state import RunState
from studio.state.context import AppContext
from tests.end_to_end.steps import LONG, at_work, ended
from tests.studio.window_driver import open_window, press, run_page
from training.config import RunConfig
from training.control import Command
from training.runs.step_profile import read_profile

MakeConfig = Callable[..., RunConfig]
MakeContext = Callable[..., AppContext]


@pytest.mark.slow
@pytest.mark.parametrize("in_process", [False, True], ids=["child", "in place"])
def test_a_running_engine_is_profiled_and_trains_on(
    in_process: bool, qtbot: QtBot, make_context: MakeContext, tiny: MakeConfig
) -> None:
    context = make_context(in_process=in_process)
    page = run_page(open_window(qtbot, context))
    context.start_run(tiny(epochs=100_000))
    folder = at_work(qtbot, context)
    qtbot.waitUntil(page.system.profile.button.isEnabled, timeout=LONG)
    press(page.system.profile, "Profile")
    qtbot.waitUntil(page.system.profile.view.isVisible, timeout=LONG)
    profile = read_profile(folder)
    assert profile is not None
    assert [share.title for share in page.system.profile.view.bar.shares()][:3] == [
        "Copy and augment",
        "Forward",
        "Backward",
    ]
    assert sum(share.share for share in page.system.profile.view.bar.shares()) == pytest.approx(1.0)
    at_work(qtbot, context, step=profile.last_step + 10)
    context.live.ask(Command.STOP)
    ended(qtbot, context, RunState.STOPPED)
    assert page.system.profile.view.isVisible()
