"""Updates: off until asked for, asked of a package index on the loopback, and told."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from studio.services.updates import explain_update, find_newer
from studio.state.context import AppContext
from studio.widgets import Banner
from studio.window.preferences import PreferencesDialog
from studio.window.start_notices import StartNotices
from studio.window.update_notice import UPDATES, ask_and_tell
from tests.training.engines.stand_ins import Server, serve_index
from tests.training.package_index import make_wheel, write_pages
from training import __version__
from training.errors import InputError


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Server]:
    """Of a newest release that is newer, and a candidate of the one behind it."""
    for version in (__version__, "99.0.1", "99.1.0rc1", "9.10"):
        make_wheel(tmp_path / "index" / "trainwright", "trainwright", version)
    write_pages(tmp_path / "index")
    with serve_index(tmp_path / "index") as server:
        yield server


def write_json(root: Path, *files: tuple[str, bool]) -> None:
    """A page of the JSON form, which a plain server takes for one of HTML."""
    record = {"files": [{"filename": name, "yanked": yanked} for name, yanked in files]}
    (root / "index" / "trainwright" / "index.html").write_text(json.dumps(record))


def find(context: AppContext) -> str:
    return find_newer(context.settings.get(), lambda: False)


@pytest.mark.slow
def test_the_newest_release_is_found_in_either_form_of_index(
    context: AppContext, index: Server, tmp_path: Path
) -> None:
    context.settings.update(engine_index=index.address)
    assert find(context) == "99.0.1"
    write_json(tmp_path, ("trainwright-99.0.1.tar.gz", True), ("trainwright-9.10-py3-none-any.whl", False))
    assert find(context) == "9.10"
    write_json(tmp_path, (f"trainwright-{__version__}.tar.gz", False))
    assert find(context) == ""
    assert [path for path, _range in index.asked] == ["/trainwright/"] * 3
    (tmp_path / "index" / "trainwright" / "index.html").unlink()
    write_json(tmp_path, ("trainwright-rail-5.0.tar.gz", False))
    with pytest.raises(InputError, match="has no package named trainwright"):
        find(context)
    context.settings.update(engine_index=f"{index.address}/elsewhere")
    with pytest.raises(InputError, match="has no package named trainwright"):
        find(context)
    context.settings.update(engine_index="http://127.0.0.1:1")
    with pytest.raises(InputError, match=r"127\.0\.0\.1:1 cannot be reached"):
        find(context)


def test_preferences_ask_when_they_are_told_to(
    qtbot: QtBot, context: AppContext, index: Server, tmp_path: Path
) -> None:
    context.settings.update(engine_index=index.address)
    dialog = PreferencesDialog(context)
    qtbot.addWidget(dialog)
    dialog.show_section(UPDATES)
    dialog.show()
    form = dialog.updates
    assert not form.daily.isChecked()
    assert not form.answer.isVisible()
    form.check.click()
    assert form.answer.text() == "Asking …"
    assert not form.check.isEnabled()
    qtbot.waitUntil(lambda: form.check.isEnabled())
    assert form.answer.text().startswith("Trainwright 99.0.1 is out. This is ")
    write_json(tmp_path, (f"trainwright-{__version__}.tar.gz", False))
    form.check.click()
    qtbot.waitUntil(lambda: form.check.isEnabled())
    assert form.answer.text() == "There is no newer version."
    context.settings.update(engine_index="http://127.0.0.1:1")
    assert "http://127.0.0.1:1" in form.source.text()
    form.check.click()
    qtbot.waitUntil(lambda: form.check.isEnabled())
    assert "cannot be reached" in form.problem.text()
    assert not form.answer.isVisible()
    form.check.click()
    context.settings.update(engine_index=index.address)  # a late answer tells of another source
    qtbot.waitUntil(lambda: form.check.isEnabled())
    assert not form.problem.isVisible()
    form.daily.click()
    dialog.reject()
    assert context.settings.get().update_check


def test_it_is_asked_once_a_day_and_told_until_it_is_put_away(qtbot: QtBot, context: AppContext, index: Server) -> None:
    context.settings.update(engine_index=index.address)
    notices = StartNotices(context)
    qtbot.addWidget(notices)

    def told() -> list[Banner]:
        return [each for each in notices.findChildren(Banner) if not each.isHidden()]

    ask_and_tell(context, notices)
    qtbot.waitUntil(lambda: bool(told()))
    assert len(index.asked) == 1
    ask_and_tell(context, notices)  # as after the next start
    qtbot.waitUntil(lambda: len(told()) == 2)
    told()[0].closed.emit()
    ask_and_tell(context, notices)
    assert len(told()) == 2
    assert len(index.asked) == 1
    context.settings.update(update_asked=time.time() - 90_000.0, update_found="")
    ask_and_tell(context, notices)
    qtbot.waitUntil(lambda: len(index.asked) == 2 and context.settings.get().update_found == "99.0.1")
    assert len(told()) == 2


@pytest.mark.parametrize(
    ("frozen", "checkout", "way"),
    [
        (True, False, "package or installer"),
        (False, True, "git pull"),
        (False, False, "pip install --upgrade trainwright"),
    ],
)
def test_how_it_is_got_depends_on_what_this_is(
    monkeypatch: pytest.MonkeyPatch, frozen: bool, checkout: bool, way: str
) -> None:
    monkeypatch.setattr("studio.services.updates.is_frozen", lambda: frozen)
    monkeypatch.setattr("studio.services.updates.find_checkout", lambda: Path() if checkout else None)
    title, words = explain_update("9.9")
    assert title == "Trainwright 9.9 is out"
    assert way in words
