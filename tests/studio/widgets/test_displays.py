"""What shows something: images, bars, progress, messages."""

import pytest
from PySide6.QtCore import QEvent, QRect, QSize, Qt
from PySide6.QtGui import QColor, QImage, QPainter
from PySide6.QtWidgets import QApplication, QHBoxLayout, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from studio.services.notifier import Notification
from studio.theme import apply
from studio.widgets import (
    Banner,
    Bar,
    BarList,
    BigNumber,
    EmptyState,
    KeyValueTable,
    MonoText,
    ProgressLine,
    SteadyLabel,
    Toast,
    ToastArea,
    label,
)
from studio.widgets.thumbnails import integer_factor, paint_image


def test_tiny_images_grow_by_whole_pixels_only() -> None:
    assert integer_factor(QSize(28, 28), QSize(82, 82)) == 2
    assert integer_factor(QSize(28, 14), QSize(164, 164)) == 5
    assert integer_factor(QSize(300, 20), QSize(82, 82)) == 0
    assert integer_factor(QSize(), QSize(82, 82)) == 0


def test_an_image_that_almost_fills_its_frame_is_not_blurred(qapp: QApplication) -> None:
    image = QImage(40, 40, QImage.Format.Format_RGB32)
    for x in range(40):
        for y in range(40):
            image.setPixelColor(x, y, QColor("#ff0000" if (x + y) % 2 else "#0000ff"))
    shown = QImage(64, 64, QImage.Format.Format_RGB32)
    shown.fill(QColor("#000000"))
    painter = QPainter(shown)
    paint_image(painter, image, QRect(0, 0, 64, 64))
    painter.end()
    assert shown.copy(12, 12, 40, 40) == image


def test_a_thousand_bars_are_no_higher_than_the_rows_allowed(qtbot: QtBot) -> None:
    few, many = BarList(max_rows=5), BarList(max_rows=5)
    for widget, count in ((few, 2), (many, 1000)):
        qtbot.addWidget(widget)
        widget.set_bars([Bar(f"class {at}", at) for at in range(count)])
        widget.resize(300, widget.sizeHint().height())
        widget.show()
        widget.grab()
    assert few.sizeHint().height() < many.sizeHint().height() < 200
    index = many.model().index(999, 0)
    assert index.data(Qt.ItemDataRole.AccessibleTextRole) == "class 999: 999"


def test_bars_without_any_height_are_painted(qtbot: QtBot) -> None:
    bars = BarList()
    qtbot.addWidget(bars)
    bars.set_bars([Bar("nothing", 0), Bar("a name that is much too long for a narrow list", 0, tone="danger")])
    bars.resize(60, 60)
    bars.show()
    bars.grab()


def test_progress_moves_by_itself_only_while_it_is_seen(qtbot: QtBot) -> None:
    line = ProgressLine()
    qtbot.addWidget(line)
    line.set_progress(None, "Loading")
    sweep = line._track._sweep
    assert sweep.state() == sweep.State.Stopped
    line.show()
    assert sweep.state() == sweep.State.Running
    line.hide()
    assert sweep.state() == sweep.State.Stopped
    line.show()
    line.set_progress(0.5, "Epoch 1 of 2", "50%")
    assert sweep.state() == sweep.State.Stopped
    assert line.accessibleName() == "Epoch 1 of 2 50% 50%"


def test_figures_are_named_for_screen_readers(qtbot: QtBot) -> None:
    number = BigNumber("Samples / s")
    qtbot.addWidget(number)
    number.set_value("12,480")
    assert number.accessibleName() == "Samples / s: 12,480"


def test_a_table_of_values_changes_in_place(qtbot: QtBot) -> None:
    table = KeyValueTable()
    qtbot.addWidget(table)
    table.set_rows([("Samples", "10"), ("Size", "28 × 28")])
    before = table.children()
    table.set_rows([("Samples", "20"), ("Size", "28 × 28")])
    assert table.children() == before
    table.set_rows([("Classes", "3")])
    table.set_value("Classes", "4")
    assert len(table.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)) == 2


def test_a_banner_acts_and_closes(qtbot: QtBot) -> None:
    banner = Banner("danger", "The run failed", "Out of memory.")
    qtbot.addWidget(banner)
    banner.show()
    acted: list[str] = []
    act = banner.add_action("Halve the batch size", lambda: acted.append("halved"))
    qtbot.mouseClick(act, Qt.MouseButton.LeftButton)
    assert acted == ["halved"]
    banner.set_message("Saved", tone="success")
    assert banner.accessibleName() == "Saved"
    with qtbot.waitSignal(banner.closed):
        banner._close.click()
    assert not banner.isVisible()


def test_an_empty_screen_shows_the_way_on(qtbot: QtBot) -> None:
    empty = EmptyState("runs", "No runs yet", "A run appears here as soon as training starts.", "Set up a run")
    qtbot.addWidget(empty)
    empty.show()
    with qtbot.waitSignal(empty.action_triggered):
        empty.button.click()
    empty.set_content("search", "Nothing found", "No run has that name.")
    assert not empty.button.isVisible()


@pytest.fixture
def area(qtbot: QtBot) -> ToastArea:
    """As narrow as the rail of a window."""
    host = QWidget()
    qtbot.addWidget(host)
    host.resize(196, 600)
    host.show()
    return ToastArea(host, lambda: host.rect().adjusted(8, 200, -8, -50), lambda _: None)


def test_toasts_go_away_by_themselves_and_stay_in_their_room(qtbot: QtBot, area: ToastArea) -> None:
    lasting = Toast(Notification("Exported", "success"), seconds=0)
    area.add(lasting)
    area.add(Toast(Notification("Saved"), seconds=0.05))
    assert len(area.toasts()) == 2
    qtbot.waitUntil(lambda: area.toasts() == [lasting])
    host = area.parentWidget()
    assert host is not None
    for height in (600, 400):
        host.resize(196, height)
        qtbot.waitUntil(lambda: area.geometry().bottom() == host.height() - 51)
        assert (area.geometry().left(), area.width()) == (8, 180)
    lasting.dismiss()
    qtbot.waitUntil(lambda: not area.toasts() and not area.isVisible())


def test_a_toast_shows_its_words_and_the_rest_on_demand(qtbot: QtBot, area: ToastArea) -> None:
    path = "/home/somebody/Documents/Trainwright/runs/pets-4-20261122-212446-0f57/exports/pets-4-step-220.py"
    for text, details in (
        ("Short.", ""),
        (path, path),  # nothing that is not to be read already
        (f"It was written to {path}.", f"{path}\n{path}.bin"),
        ("A long sentence. " * 20, ""),
    ):
        toast = Toast(Notification(text, "danger", "Not started", details))
        area.add(toast)
        assert toast.width() == 180
        for words in toast.findChildren(QLabel):
            assert words.isVisible()
            assert words.height() >= words.heightForWidth(words.width())
            assert toast.rect().contains(words.geometry())
        mores = [button for button in toast.findChildren(QPushButton) if button.text() == "Show details"]
        assert len(mores) == (len(text) > 200 or ".bin" in details)
        for more in mores:
            with qtbot.waitSignal(area.details_wanted) as wanted:
                more.click()
            assert wanted.args == [toast, details or text]
    area.dismiss_all()
    assert area.toasts() == []


def test_two_toasts_at_a_time_and_a_result_in_the_place_of_its_beginning(qtbot: QtBot, area: ToastArea) -> None:
    begun, failed = (
        Toast(Notification("Exporting …", subject="export"), seconds=0),
        Toast(Notification("No room", "danger")),
    )
    area.add(begun)
    area.add(failed)
    ended = Toast(Notification("Exported", "success", subject="export"), seconds=0.05)
    area.add(ended)
    assert area.toasts() == [failed, ended]
    area.add(Toast(Notification("No room", "danger")))  # the same again
    assert [toast.text for toast in area.toasts()] == ["Exported", "No room"]
    area.add(Toast(Notification("Something else"), seconds=0))
    assert [toast.text for toast in area.toasts()] == ["No room", "Something else"]
    assert "1 more" in [words.text() for words in area.findChildren(QLabel) if words.isVisible()]
    area.toasts()[1].dismiss()
    assert [toast.text for toast in area.toasts()] == ["Exported", "No room"]  # it waited, and goes away only now
    qtbot.waitUntil(lambda: [toast.text for toast in area.toasts()] == ["No room"])


def test_a_figure_that_changes_keeps_its_room_while_it_fits(qtbot: QtBot) -> None:
    host = Host()
    qtbot.addWidget(host)
    figure, beside = SteadyLabel(), label("beside")
    row = QHBoxLayout(host)
    row.addWidget(figure)
    row.addWidget(beside)
    row.addStretch(1)
    figure.setText("12345")
    with qtbot.waitExposed(host):
        host.show()
    qtbot.wait(50)
    place, counted = beside.pos(), host.counted
    for number in range(12346, 12366):
        figure.setText(str(number))
        qtbot.wait(1)
    assert (beside.pos(), host.counted) == (place, counted)
    assert figure.text() == "12365"
    figure.setText("123456789012345")
    assert figure.width() > figure.fontMetrics().horizontalAdvance(figure.text())
    qtbot.waitUntil(lambda: beside.x() > place.x())
    figure.setText("1")
    qtbot.waitUntil(lambda: beside.x() < place.x())
    big = figure.font()
    big.setPixelSize(40)
    figure.setFont(big)
    assert figure.height() >= figure.fontMetrics().height()


class Host(QWidget):
    """Counts how often its layout is counted anew."""

    counted = 0

    def event(self, event: QEvent) -> bool:
        self.counted += event.type() == QEvent.Type.LayoutRequest
        return super().event(event)


def test_room_that_is_kept_for_words_follows_the_size_of_the_text(qtbot: QtBot, qapp: QApplication) -> None:
    number = BigNumber("Validation accuracy")
    qtbot.addWidget(number)
    number.reserve_lines(2)
    number.show()
    heights = []
    for scale in (1.0, 1.5, 1.0):
        apply(qapp, "light", font_scale=scale)
        qtbot.wait(1)
        heights.append(number.sizeHint().height())
        assert number._delta.minimumHeight() == 2 * number._delta.fontMetrics().lineSpacing()
    assert heights[1] > heights[0] == heights[2]


def test_a_text_of_equal_letters_follows_the_size_of_the_text(qtbot: QtBot, qapp: QApplication) -> None:
    text = MonoText("Technical record", "Traceback")
    qtbot.addWidget(text)
    text.show()
    widths = []
    for scale in (1.0, 1.5):
        apply(qapp, "light", font_scale=scale)
        widths.append(text.fontMetrics().horizontalAdvance("i" * 10))
        assert widths[-1] == text.fontMetrics().horizontalAdvance("m" * 10)
    assert widths[1] > widths[0] * 1.3
    assert text.isReadOnly()
