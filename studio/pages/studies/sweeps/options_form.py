"""Who proposes a sweep's trials, who stops them early, what they may take, and where they are kept."""

from __future__ import annotations

from PySide6.QtCore import Signal, Slot
from PySide6.QtWidgets import QFormLayout, QLineEdit, QWidget

from studio.state.sweeps.titles import PRUNER_TITLES, SAMPLER_TITLES
from studio.theme import SPACING, set_invalid
from studio.widgets import STRETCH, Card, ComboBox, NumberEdit, hbox, in_widget, label, vbox
from training.errors import InputError
from training.sweeps.folder import USUAL_TRIALS
from training.sweeps.optuna_study import PASSWORD
from training.sweeps.request import PRUNER_WORDS, SAMPLER_WORDS, SweepRequest, check_numbers

_REPEATS = (
    "More than one are trained with as many seeds, the same in all trials, and the trial counts by their mean: dearer, and less noise. "
    "Wilcoxon's pruner compares them in pairs, from the fourth on."
)
_BUDGET = (
    f"No trial begins once one of these is used up. With all of them empty it is {USUAL_TRIALS} trials, of a grid all."
)
_STORAGE = (
    "For workers on several machines: PostgreSQL, postgresql://USER@HOST/DATABASE. No file keeps a password; give it in "
    f"{PASSWORD}."
)

_NAMES = {"repeat": "repeats", "disk": "gigabytes"}
"""What a request calls the options that have another name there."""


class OptionsForm(QWidget):
    """Signals: `edited()` while somebody types; `sampler_chosen()`, `pruner_chosen()`."""

    edited, sampler_chosen, pruner_chosen = Signal(), Signal(), Signal()

    def __init__(self) -> None:
        super().__init__()
        self.sampler, self.pruner = ComboBox(), ComboBox()
        self._sampler_words, self._pruner_words = label("", "help", wrap=True), label("", "help", wrap=True)
        self.seed, self.repeats = NumberEdit("int", minimum=0), NumberEdit("int", minimum=1)
        self.trials = NumberEdit("int", minimum=1, optional=True)
        self.hours, self.disk = NumberEdit(optional=True, unit="h"), NumberEdit(optional=True, unit="GB")
        self.storage = QLineEdit(placeholderText="a journal in the sweep's folder")
        self._fields: dict[str, tuple[QWidget, str]] = {
            "sampler": (self.sampler, "Sampler"),
            "pruner": (self.pruner, "Pruner"),
            "seed": (self.seed, "Seed"),
            "repeat": (self.repeats, "Runs of each trial"),
            "trials": (self.trials, "Trials"),
            "hours": (self.hours, "Hours of training"),
            "disk": (self.disk, "Gigabytes of disk"),
            "storage": (self.storage, "Storage"),
        }
        self._lines = {"seed": self.seed, "repeat": self.repeats, "trials": self.trials}
        self._lines |= {"hours": self.hours, "disk": self.disk}
        self._said = {option: label("", "problem", wrap=True) for option in self._lines}
        for field, name in self._fields.values():
            field.setAccessibleName(name)
        self._lay_out()
        self._fill()
        self._connect()

    def request(self, vary: tuple[str, ...]) -> SweepRequest:
        """What is asked for now. Raises InputError, which begins with the option, for a field that holds no number."""
        for option, line in self._lines.items():
            if line.problem():
                raise InputError(f"--{option}: {line.problem()}")
        trials = self.trials.value()
        return SweepRequest(
            vary,
            self.sampler.currentData(),
            self.pruner.currentData(),
            int(self.seed.value() or 0),
            None if trials is None else int(trials),
            self.hours.value(),
            self.disk.value(),
            self.storage.text().strip(),
            int(self.repeats.value() or 0),
        )

    def is_grid(self) -> bool:
        """Whether every combination is to be tried."""
        return bool(self.sampler.currentData() == "grid")

    def tell_faults(self) -> list[str]:
        """Say beside each number what is wrong with it; returns what these fields are called."""
        for option, line in self._lines.items():
            words = line.problem() or _judge(option, line.value())
            self._said[option].setText(f"{self._fields[option][1]}: {words[:1].lower()}{words[1:]}" if words else "")
            self._said[option].setVisible(bool(words))
        return [self._fields[option][1] for option, said in self._said.items() if said.text()]

    def mark(self, wrong: str) -> str:
        """Show the field of an option as wrong, besides those that are told beside theirs; returns what the field is called, "" where there is
        none."""
        for option, (field, _) in self._fields.items():
            set_invalid(field, option == wrong or (option in self._said and bool(self._said[option].text())))
        return self._fields[wrong][1] if wrong in self._fields else ""

    def _lay_out(self) -> None:
        how, form = Card("How"), QFormLayout()
        form.setHorizontalSpacing(SPACING.l)
        form.setVerticalSpacing(SPACING.m)
        repeats = label(_REPEATS, "help", wrap=True)
        for title, field, said, words in (
            ("Sampler", self.sampler, None, self._sampler_words),
            ("Pruner", self.pruner, None, self._pruner_words),
            ("Seed", self.seed, self._said["seed"], None),
            ("Runs of each trial", self.repeats, self._said["repeat"], repeats),
        ):
            column = vbox(hbox(field, STRETCH), spacing=SPACING.xs)
            for line in filter(None, (said, words)):
                column.addWidget(line)
            form.addRow(label(title, "field"), in_widget(column))
        how.add(form)
        budget = Card("Budget", subtitle=_BUDGET)
        limits = (("Trials", self.trials), ("Training", self.hours), ("Disk", self.disk))
        budget.add(hbox(*(in_widget(hbox(label(title), line)) for title, line in limits), STRETCH, spacing=SPACING.l))
        budget.add(vbox(*(self._said[option] for option in ("trials", "hours", "disk")), spacing=0))
        storage = Card("Storage", subtitle=_STORAGE)
        storage.add(self.storage)
        for option, number in self._lines.items():
            number.setFixedWidth(84)
            self._said[option].hide()
        vbox(how, budget, storage, parent=self, spacing=SPACING.m)

    def _fill(self) -> None:
        for sampler, title in SAMPLER_TITLES.items():
            self.sampler.addItem(title, sampler)
        for pruner, title in PRUNER_TITLES.items():
            self.pruner.addItem(title, pruner)
        self.seed.setText("0")
        self.repeats.setText("1")
        self.trials.setText(str(USUAL_TRIALS))
        self._tell_words()

    def _connect(self) -> None:
        self.sampler.currentIndexChanged.connect(self._on_sampler)
        self.pruner.currentIndexChanged.connect(self._on_pruner)
        for line in (*self._lines.values(), self.storage):
            line.textChanged.connect(self.edited)

    def _tell_words(self) -> None:
        self._sampler_words.setText(SAMPLER_WORDS[self.sampler.currentData()])
        self._pruner_words.setText(PRUNER_WORDS[self.pruner.currentData()])

    @Slot()
    def _on_sampler(self) -> None:
        """A grid is tried as a whole, unless another number is asked for."""
        usual = str(USUAL_TRIALS)
        self.trials.setPlaceholderText("all" if self.is_grid() else "")
        if self.trials.text() == (usual if self.is_grid() else ""):
            self.trials.setText("" if self.is_grid() else usual)
        self._tell_words()
        self.sampler_chosen.emit()

    @Slot()
    def _on_pruner(self) -> None:
        self._tell_words()
        self.pruner_chosen.emit()


def _judge(option: str, value: float | None) -> str:
    """What is wrong with the number of an option, whatever the others are; "" for nothing."""
    if value is None:
        return ""
    try:
        check_numbers(SweepRequest((), **{_NAMES.get(option, option): value}))  # type: ignore[arg-type]
    except InputError as error:
        return error.message.partition(": ")[2]
    return ""
