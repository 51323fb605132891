"""What a language model wrote after each validation."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QPlainTextEdit

from studio.state.context import AppContext
from studio.widgets import Card, MonoText, Slider, SteadyLabel, hbox
from training.events import AttemptStarted, Event, Rewound, TextSampled
from training.system.untrusted import visible_lines

_HEIGHT = 180


class TextsCard(Card):
    """Follows the run in view; hidden while it has written none. The newest is shown until the person goes back."""

    def __init__(self, context: AppContext) -> None:
        super().__init__("Text of the model", "text")
        self._texts: list[TextSampled] = []
        self.text = MonoText("Text that the model wrote")
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.text.setFixedHeight(_HEIGHT)
        self.slider = Slider()
        self.slider.setAccessibleName("Validation shown")
        self.slider.valueChanged.connect(self._show)
        self.words = SteadyLabel("caption")
        self.add(self.text, hbox((self.slider, 1), self.words))
        context.shown.attached.connect(self._forget)
        context.shown.event_arrived.connect(self._on_event)
        self.hide()

    @Slot()
    def _forget(self) -> None:
        self._keep([])

    @Slot(object)
    def _on_event(self, event: Event) -> None:
        if isinstance(event, AttemptStarted | Rewound):
            self._keep([text for text in self._texts if text.step <= event.step])
        elif isinstance(event, TextSampled):
            self._keep([*self._texts, event])

    def _keep(self, texts: list[TextSampled]) -> None:
        follows = self.slider.value() >= len(self._texts) - 1
        self._texts = texts
        self.setVisible(bool(texts))
        at = len(texts) - 1 if follows else min(self.slider.value(), len(texts) - 1)
        self.slider.blockSignals(True)
        self.slider.setRange(0, max(len(texts) - 1, 0))
        self.slider.setValue(max(at, 0))
        self.slider.blockSignals(False)
        self._show()

    @Slot()
    def _show(self) -> None:
        if not self._texts:
            return
        shown = self._texts[self.slider.value()]
        self.text.setPlainText(visible_lines(shown.text))
        self.words.setText(f"step {shown.step:,}, epoch {shown.epoch:,}")
