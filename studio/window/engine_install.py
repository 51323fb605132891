"""Installs an engine: which kind, from where and how much that is, how far it is, and what came of it."""

from __future__ import annotations

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QLineEdit, QWidget

from studio.state.context import AppContext
from studio.state.engines import engines_of
from studio.theme import SPACING, set_role
from studio.widgets import Card, PathEdit, ProgressLine, Segmented, button, hbox, in_widget, label, vbox
from training.engines.install import Installed, Unfinished
from training.engines.kinds import KINDS, Machine, explain_refusal, look_at_this_machine
from training.engines.request import Request
from training.system.installed import without_secrets


class InstallCard(Card):
    """Nothing is asked of the network before its button was pressed."""

    def __init__(self, context: AppContext) -> None:
        super().__init__("Install an engine", "download")
        self._context = context
        self._machine: Machine = look_at_this_machine()
        self._made = ""  # what was installed just now
        self.kind = Segmented([(kind.name, kind.title) for kind in KINDS.values()])
        self.kind.setAccessibleName("Kind of engine")
        self.kind.set_current(self._machine.best)
        self.plan = label("", "help", wrap=True)
        self.index, self.proxy = QLineEdit(), QLineEdit()
        self.wheels = PathEdit("folder", title="Choose a folder of wheels")
        self.more = button("Package index, proxy, offline …", "settings", "ghost", clicked=self._on_more)
        self.options = self._make_options()
        self.options.hide()
        self.start = button("Install", "download", "primary", clicked=self._on_start)
        self.cancel = button("Cancel installation", "cross", clicked=engines_of(context).cancel)
        self.discard = button("Discard", "trash", "ghost", clicked=self._on_discard)
        self.line = ProgressLine()
        self.result = label("", "help", wrap=True, selectable=True)
        buttons = hbox(self.more, self.discard, (in_widget(hbox()), 1), self.cancel, self.start)
        self.add(self.kind, self.plan, self.options, self.line, self.result, buttons)
        self.kind.current_changed.connect(self.show_state)
        for line in (self.index, self.wheels.line_edit):
            line.textChanged.connect(self.show_state)
        engines = engines_of(context)
        engines.changed.connect(self.show_state)
        engines.progressed.connect(self._show_progress)
        engines.installed.connect(self._on_installed)
        self._recall()
        self.show_state()

    def _make_options(self) -> QWidget:
        self.index.setAccessibleName("Package index")
        self.index.setPlaceholderText("https://… of a mirror; empty: PyTorch's, and the one pip uses")
        self.proxy.setAccessibleName("Proxy")
        self.proxy.setPlaceholderText("http://… ; empty: as HTTPS_PROXY says")
        self.wheels.line_edit.setAccessibleName("Folder of wheels")
        self.wheels.set_placeholder("Without a package index nothing else is used: offline")
        rows = (("Package index", self.index), ("Proxy", self.proxy), ("Folder of wheels", self.wheels))
        return in_widget(
            vbox(*(part for title, row in rows for part in (label(title, "field"), row)), spacing=SPACING.s)
        )

    def _recall(self) -> None:
        settings = self._context.settings.get()
        self.index.setText(settings.engine_index)
        self.proxy.setText(settings.engine_proxy)
        self.wheels.set_path(settings.engine_wheels)

    def make_request(self) -> Request:
        """What the form asks for: the rest of an unfinished one of this kind, or a new one."""
        texts = {
            "index": self.index.text().strip(),
            "proxy": self.proxy.text().strip(),
            "wheels": self.wheels.path().strip(),
        }
        return Request.model_validate({"kind": self.kind.current(), **texts})

    @Slot()
    def show_state(self) -> None:
        """Say what can be done, and what is being done."""
        engines = engines_of(self._context)
        request = self.make_request()
        busy = engines.request is not None
        unfinished = self._find_unfinished(request)
        there = any(each.is_ours and each.found.name == request.title for each in engines.engines)
        reason = explain_refusal(request.sort, self._machine)
        if not reason and there:
            reason = f"There is an engine {request.title} already: remove it first."
        if not reason and unfinished is not None and unfinished.is_busy and not busy:
            reason = "Another process is just installing it."
        plan = request.announce(self._machine)
        self.plan.setText(reason or plan[:1].upper() + plan[1:])
        for widget in (self.kind, self.options):
            widget.setEnabled(not busy)
        go_on = unfinished is not None and not busy
        self.start.setText("Go on" if go_on else "Install")
        self.start.setVisible(not busy)
        self.start.setEnabled(not reason)
        self.discard.setVisible(go_on and not reason)
        self.cancel.setVisible(busy)
        self.cancel.setEnabled(not engines.is_canceling)
        self.line.setVisible(busy or go_on)
        if go_on and unfinished is not None:
            progress = unfinished.progress
            words = str(progress) if unfinished.is_busy else f"Not finished; {progress.tell_past()}."
            self.line.set_progress(progress.fraction or 0.0, words)
        elif busy:
            self._show_progress()
        self._show_result()

    @Slot()
    def _show_progress(self) -> None:
        engines = engines_of(self._context)
        before = "Canceling … " if engines.is_canceling else ""
        self.line.set_progress(engines.progress.fraction, f"{before}{engines.progress}")

    def _show_result(self) -> None:
        engines = engines_of(self._context)
        problem = engines.install_problem or engines.told
        set_role(self.result, "problem" if problem else "help")
        self.result.setText(problem or self._made)
        self.result.setVisible(bool(self.result.text()))

    @Slot()
    def _on_start(self) -> None:
        request = self.make_request()
        self._made = ""
        index, proxy = without_secrets(request.index), without_secrets(request.proxy)  # a password is not kept
        self._context.settings.update(engine_index=index, engine_proxy=proxy, engine_wheels=request.wheels)
        unfinished = self._find_unfinished(request)
        engines_of(self._context).install(request if unfinished is None else unfinished.request)

    def _find_unfinished(self, request: Request) -> Unfinished | None:
        """What there is of the engine that would be called so."""
        unfinished = engines_of(self._context).unfinished
        return next((each for each in unfinished if each.request.title == request.title), None)

    @Slot()
    def _on_discard(self) -> None:
        engines_of(self._context).discard(self.make_request().title)

    @Slot()
    def _on_more(self) -> None:
        self.options.setVisible(self.options.isHidden())

    @Slot(object)
    def _on_installed(self, made: Installed) -> None:
        self._made = f"Installed: PyTorch {made.torch} ({made.build}). Press Use to train with it."
