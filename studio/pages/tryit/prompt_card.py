"""A text for a language model to go on with, and how the next tokens are drawn."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QPlainTextEdit, QWidget

from studio.pages.tryit.asked_model import AskedModel
from studio.state.context import AppContext
from studio.theme import SPACING
from studio.widgets import Card, MonoText, NumberEdit, button, hbox, label, vbox
from training.errors import pluralize
from training.protocol.model_answers import Continuation
from training.protocol.model_questions import ContinueText

_AT_ONCE = 8  # tokens: the text grows while it is watched, and Stop is heard between two pieces
_PROMPT_HEIGHT = 96
_TEXT_HEIGHT = 260
_KIND = "text"


class PromptCard(Card):
    """Streams the text; ``problem`` says why it does not go on."""

    def __init__(self, context: AppContext, model: AskedModel) -> None:
        super().__init__("Prompt", "text")
        self._context = context
        self._model = model
        self._tokens: tuple[int, ...] = ()
        self._wanted = 0
        self._suggested = ""
        self._request: ContinueText | None = None
        self.prompt = QPlainTextEdit()
        self.prompt.setAccessibleName("Prompt")
        self.prompt.setTabChangesFocus(True)
        self.prompt.setFixedHeight(_PROMPT_HEIGHT)
        self.temperature = _make_number("0.8", "Temperature", step=0.1)
        self.top_k = _make_number("", "Top-k", kind="int")
        self.top_p = _make_number("", "Top-p", step=0.05)
        self.count = _make_number("200", "Tokens", kind="int")
        self.seed = _make_number("0", "Seed", kind="int")
        self.go_on = button("Go on", "play", "primary", tooltip="Let the model go on with the prompt")
        self.stop = button("Stop", "stop", tooltip="Keep what there is of the text")
        self.state = label("", "caption", wrap=True)
        self.problem = label("", "problem", wrap=True)
        self._unseen = 0
        self.text = MonoText("Text of the model")
        self.text.setMinimumHeight(_TEXT_HEIGHT)
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self._lay_out()
        self.go_on.clicked.connect(self._on_go_on)
        self.stop.clicked.connect(self.end)
        self._update_buttons()

    def _lay_out(self) -> None:
        fields = [
            _under(self.temperature, "Temperature", "0 always takes the likeliest token"),
            _under(self.top_k, "Top-k", "Draw from so many likeliest tokens only; empty: from all"),
            _under(
                self.top_p,
                "Top-p",
                "Draw from the likeliest tokens that together have this probability; empty: from all",
            ),
            _under(self.count, "Tokens", "How many tokens to add"),
            _under(self.seed, "Seed", "The same seed gives the same text"),
        ]
        self.add(
            self.prompt,
            hbox(*((field, 1) for field in fields), spacing=SPACING.m),
            hbox(self.go_on, self.stop, (self.state, 1)),
            self.problem,
            self.text,
        )

    @Slot()
    def end(self) -> None:
        """Ask for no more of the text."""
        self._model.forget(_KIND)
        self._request = None
        self._update_buttons()

    def suggest(self, prompt: str) -> None:
        """Something to begin with, where the person has typed nothing."""
        if not self.prompt.toPlainText() or self.prompt.toPlainText() == self._suggested:
            self._suggested = prompt
            self.prompt.setPlainText(prompt)

    def clear(self) -> None:
        """Another model is asked."""
        self.end()
        self.text.setPlainText("")
        self.state.setText("")
        self._say("")

    @Slot()
    def _on_go_on(self) -> None:
        path = self._context.model_to_try.path
        fields = {
            "Temperature": self.temperature,
            "Top-k": self.top_k,
            "Top-p": self.top_p,
            "Tokens": self.count,
            "Seed": self.seed,
        }
        wrong = next((f"{name}: {field.problem()}" for name, field in fields.items() if field.problem()), "")
        self._say(wrong)
        if path is None or wrong:
            return
        top_k, top_p = self.top_k.value(), self.top_p.value()
        self._tokens, self._unseen, self._wanted = (), 0, int(self.count.value() or 0)
        self._request = ContinueText(
            model=path,
            prompt=self.prompt.toPlainText(),
            temperature=float(self.temperature.value() or 0.0),
            top_k=None if top_k is None else int(top_k),
            top_p=None if top_p is None else float(top_p),
            seed=int(self.seed.value() or 0),
        )
        self.text.setPlainText("")
        self._ask_for_more()

    def _ask_for_more(self) -> None:
        left = self._wanted - len(self._tokens)
        if self._request is None or left <= 0:
            self._request = None
            self._update_buttons()
            return
        more = self._request.model_copy(update={"tokens": self._tokens, "count": min(left, _AT_ONCE)})
        self._update_buttons()
        self._model.ask(_KIND, more, Continuation, self._on_piece, self._on_refused)

    def _on_piece(self, piece: Continuation) -> None:
        if self._request is None:
            return
        self._tokens += piece.tokens
        self._unseen = piece.unseen
        self.text.setPlainText(self._request.prompt + piece.text)
        bar = self.text.verticalScrollBar()
        bar.setValue(bar.maximum())
        self._ask_for_more()

    def _on_refused(self, why: str) -> None:
        self._request = None
        self._update_buttons()
        self._say(why)

    def _say(self, problem: str) -> None:
        self.problem.setText(problem)
        self.problem.setVisible(bool(problem))

    def _update_buttons(self) -> None:
        works = self._request is not None
        self.go_on.setEnabled(not works)
        self.stop.setEnabled(works)
        made = len(self._tokens)
        words = f"{made:,} of {self._wanted:,} tokens"
        if self._unseen:
            words += f"; the first {pluralize(self._unseen, 'token')} of the prompt are more than the model sees"
        self.state.setText(words if works or made else "")


def _make_number(text: str, name: str, kind: str = "float", step: float | None = None) -> NumberEdit:
    optional = name.startswith("Top")
    field = NumberEdit("int" if kind == "int" else "float", step=step, minimum=0, optional=optional)
    field.setText(text)
    field.setAccessibleName(name)
    field.setMinimumWidth(64)
    return field


def _under(field: NumberEdit, name: str, tooltip: str) -> QWidget:
    holder = QWidget()
    caption = label(name, "caption")
    caption.setBuddy(field)
    field.setToolTip(tooltip)
    vbox(caption, field, parent=holder, spacing=2)
    return holder
