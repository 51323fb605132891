"""The Setup page: header, four panels, findings, start bar."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QEvent, Qt, QTimer, Slot
from PySide6.QtGui import QHideEvent, QKeySequence, QResizeEvent, QShortcut, QShowEvent
from PySide6.QtWidgets import QStackedWidget, QTabBar, QWidget

from studio.actions.queueing import explain_adding
from studio.forms.section_form import SectionForm
from studio.pages.setup.branch_sheet import BranchSheet
from studio.pages.setup.code_view import CodeView
from studio.pages.setup.engine_menu import EngineMenu
from studio.pages.setup.findings import FindingsPanel
from studio.pages.setup.four_panels import make_panels
from studio.pages.setup.header import Finder, SetupHeader
from studio.pages.setup.other_data import OtherData, tell_of_move, withdraw_move
from studio.pages.setup.panel import Panel
from studio.pages.setup.places import find_places, mark_tabs
from studio.pages.setup.previews.preview_model import PreviewModel
from studio.pages.setup.previews.run_time import REST, RunTimeQuery
from studio.pages.setup.queueing import Queueing
from studio.pages.setup.start_bar import StartBar, summary
from studio.pages.setup.undo_notice import UndoNotice
from studio.pages.setup.where_card import WhereCard
from studio.panels.data.engine_query import DEBOUNCE
from studio.state.context import AppContext
from studio.state.drafts.draft import Draft
from studio.theme import SPACING, icon, theme
from studio.widgets import BesideOrOver, chain_tab_order, in_widget, separator, vbox
from training.config.rules.inactive_settings import find_inactive
from training.config.rules.task import offer_monitors
from training.config.run import alternatives

_THREE_COLUMNS = 2000  # pixels, for text of the designed size: form, preview and code have room beside each other


class SetupPage(QWidget):
    """``preview_delay`` is the rest after an edit before previews are asked for, in milliseconds."""

    def __init__(self, context: AppContext, *, preview_delay: int = DEBOUNCE) -> None:
        super().__init__()
        self.context = context
        self.draft = context.draft
        self.previews = PreviewModel(context, self, delay=preview_delay)
        self.header = SetupHeader(context)
        self.tabs = QTabBar()
        self.stack = QStackedWidget()
        self.code = CodeView(self.draft, self.previews.dataset, self.problem_sentences)
        self._sides = BesideOrOver(self.stack, self.code, self, shares=(62, 38))
        self._is_wide = False
        self.panels: list[Panel] = []
        self._help_pages: list[str] = []
        self._add_panels()
        self.forms: list[SectionForm] = [
            self.header.name_form,
            *(form for panel in self.panels for form in panel.forms),
        ]
        self.finder = Finder(self.header.search, self.forms, self.where, self.show_setting, self)
        self.findings = FindingsPanel(context, self.previews)
        self.run_time = RunTimeQuery(context, self.previews, self, rest=REST if preview_delay else 0)
        self.bar = StartBar(EngineMenu(context, self))
        self._queueing = Queueing(context, self.bar)
        self.other_data = OtherData(context, self.previews.dataset, self)
        self._undo_notice = UndoNotice(context, self.tabs, self.show_setting, self.go_to)
        self._lay_out()
        self._connect()
        self._update()
        self._offer_monitors()
        self._chain_tab_order()

    # ------------------------------------------------------------------------------------------ building

    def _add_panels(self) -> None:
        for title, help_page, panel in make_panels(self.context, self.draft, self.previews, self.stack):
            self._help_pages.append(help_page)
            self.panels.append(panel)
            self.tabs.addTab(icon("check", "success"), title)
            self.stack.addWidget(panel)
        self._dataset_form = self.panels[0].forms[0]
        (self.where,) = (card for panel in self.panels for card in panel.cards if isinstance(card, WhereCard))

    def _lay_out(self) -> None:
        self.tabs.setExpanding(False)
        self.tabs.setDrawBase(False)
        self.tabs.setElideMode(Qt.TextElideMode.ElideNone)
        self.tabs.setUsesScrollButtons(False)
        self.tabs.setAccessibleName("Parts of the set-up")
        self.sheet = BranchSheet(self.context)
        vbox(
            self.header,
            SPACING.xs,
            _inset(self.tabs),
            separator(),
            self.sheet,
            (self._sides, 1),
            _inset(self.findings, bottom=SPACING.s),
            _inset(self.other_data.banner, bottom=SPACING.s),
            self.bar,
            parent=self,
            spacing=0,
        )

    def _connect(self) -> None:
        self.tabs.currentChanged.connect(self.stack.setCurrentIndex)
        context, pages = self.context, self._help_pages
        self.header.help.clicked.connect(lambda: context.help_requested.emit(pages[self.tabs.currentIndex()]))
        self.header.code.toggled.connect(self._sides.set_open)
        self._sides.open_changed.connect(self.header.code.setChecked)
        self.header.code.clicked.connect(self._on_code_clicked)
        theme().changed.connect(self._follow_width)
        for panel in self.panels:
            for other in self.panels:  # whoever opened the preview wants that of the next tab, too
                panel.open_changed.connect(other.set_open)
        for changed in (
            *(self.previews.changed, self.draft.problems_changed, self.draft.touched.demanded, self.sheet.changed),
            *(self.where.problem_changed, self.context.start_problem_changed, self.run_time.changed),
        ):
            changed.connect(self._update)
        self.previews.dataset.changed.connect(self._offer_what_the_data_has)
        self._dataset_form.rebuilt.connect(self._offer_what_the_data_has)
        self.draft.touched.demanded.connect(self._go_to_first)
        for signal in (self.header.preset_used, self.context.file_opened, self.findings.fields_blamed):
            signal.connect(self._go_to_first)
        self.draft.changed.connect(self._offer_monitors)
        self.draft.stepped.connect(self._undo_notice.show)
        self.draft.kind_changed.connect(partial(withdraw_move, self.context))
        self.draft.moved.connect(partial(tell_of_move, self.context))
        self.context.find_requested.connect(lambda path: self.go_to(path) if path else self._focus_search())
        self.bar.start_asked.connect(self.start)
        self.bar.check_asked.connect(self.check)
        self.bar.fix_asked.connect(self.draft.apply)
        self.other_data.followed.connect(self.findings.follow)
        self.findings.timed.connect(self.run_time.set_measured)
        self.bar.problem_chosen.connect(self.go_to)
        for form in self.forms:
            # Later, because the rows of a form are replaced in the middle of an event of theirs.
            form.rebuilt.connect(lambda: QTimer.singleShot(0, self, self._chain_tab_order))
        for keys, slot in (
            (QKeySequence(QKeySequence.StandardKey.Find), self._focus_search),
            (QKeySequence(QKeySequence.StandardKey.Undo), self.draft.undo),
            *((QKeySequence(keys), self.draft.redo) for keys in ("Ctrl+Shift+Z", "Ctrl+Y")),
        ):
            shortcut = QShortcut(keys, self, context=Qt.ShortcutContext.WidgetWithChildrenShortcut)
            shortcut.activated.connect(slot)

    # ------------------------------------------------------------------------------------------- actions

    def start(self) -> None:
        """Train what the forms say."""
        config = self.draft.config()
        if config is None:
            self.draft.touched.demand()
        elif not (self.context.start_problem() or self._find_hold() or self.where.time_before(config, self.start)):
            self.context.start_run(config)

    def check(self) -> None:
        """Have the engine look at what the forms say."""
        if self.draft.config() is None:
            self.draft.touched.demand()
            return
        self.findings.check()
        self.sheet.make_room()

    def _go_to_first(self) -> None:
        """To the first setting that is missing or wrong."""
        for place in find_places(self.draft, self.forms)[:1]:
            self.go_to(place.path)

    def go_to(self, path: str) -> None:
        """Show a setting, or where the run is trained, and give it the keyboard."""
        self.show_setting(path)
        card = next((form for form in self.forms if form.knows(path)), self.where)
        if card.knows(path):
            card.reveal(path)

    def show_setting(self, path: str) -> QWidget | None:
        """Bring a setting into view; returns its row."""
        for number, panel in enumerate(self.panels):
            for card in panel.cards:
                row = card.row_of(path)
                if row is not None:
                    self.tabs.setCurrentIndex(number)
                    card.unfold_for(path)
                    # Its place is known only after the layouts have been worked out.
                    QTimer.singleShot(0, row, partial(panel.scroll_to, row))
                    return row
        return None

    def problem_sentences(self) -> list[tuple[str, str]]:
        """(path, sentence with the field's name) of everything wrong, as the forms say it."""
        return [(place.path, place.sentence) for place in find_places(self.draft, self.forms)]

    # -------------------------------------------------------------------------------------------- showing

    def _update(self) -> None:
        places = find_places(self.draft, self.forms)
        self.context.hold_draft(self._find_hold())
        problem, awaited = self.context.start_problem(), self.previews.find_awaited()
        if self.context.is_training() or self.context.studies.is_busy:
            problem, awaited = "", problem
        self.bar.set_state(
            summary(self.draft.usable_config(), self.previews.length(), self.run_time.run_time),
            places,
            problem or self.sheet.refusal() or self.where.problem,
            awaited,
            explain_adding(self.context),
        )
        self.where.set_run_time(self.run_time.run_time)
        self._show_inactive()
        self._dataset_form.suggest_several(takes_several_targets(self.draft))
        self.bar.set_starts_branch(self.context.branch is not None)
        mark_tabs(self.tabs, self.panels, places)

    def _find_hold(self) -> str:
        """Why the draft is not to be trained although nothing in it is wrong."""
        return self.sheet.refusal() or self.where.problem or self.previews.find_awaited()

    def _show_inactive(self) -> None:
        config, question = self.draft.usable_config(), self.previews.dataset
        given = () if question.unread or question.answer is None else question.answer.given
        found = find_inactive(config, given) if config else {}
        for form in self.forms:
            form.set_inactive(found)

    def _offer_what_the_data_has(self) -> None:
        table = self.previews.dataset.table
        self._dataset_form.set_columns(table.columns if table is not None else ())
        if row := self._dataset_form.find_row("dataset.classes"):
            row.editor.set_classes(self.previews.dataset.classes)

    def _offer_monitors(self) -> None:
        config = self.draft.usable_config()
        if config is None:
            return
        for form in self.forms:
            if row := form.find_row("checkpoints.monitor"):
                row.editor.offer(("auto", *offer_monitors(config.objective, config.dataset)))

    @Slot()
    def _follow_width(self) -> None:
        """Where there is room for it the code stands beside the forms, unless the person took it away."""
        wide = self.width() >= _THREE_COLUMNS * max(theme().font_scale, 1.0)
        if wide != self._is_wide:
            self._is_wide = wide
            self._sides.set_open(wide and self.context.settings.get().code_beside)

    @Slot(bool)
    def _on_code_clicked(self, shown: bool) -> None:
        if self._is_wide:
            self.context.settings.update(code_beside=shown)

    def _focus_search(self) -> None:
        self.header.search.setFocus()
        self.header.search.selectAll()

    def _chain_tab_order(self) -> None:
        """Qt's own order is that in which widgets were made; rows of another kind would come last."""
        chain: list[QWidget] = [*self.header.focus_widgets(), self.tabs]
        for panel in self.panels:
            for card in panel.cards:
                chain.extend(card.focus_widgets())
            chain.extend(panel.chain())
        chain += self.bar.focus_widgets()
        chain_tab_order(chain)

    # ------------------------------------------------------------------------------------------ Qt's own

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.previews.set_active(True)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.sheet.follow_page()
        self._follow_width()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.previews.set_active(False)
        self.run_time.stop()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        if event.type() == QEvent.Type.ActivationChange and self.isActiveWindow() and self.isVisible():
            self.draft.recheck()  # a folder may have come or gone while the person was elsewhere


def _inset(widget: QWidget, bottom: int = 0) -> QWidget:
    return in_widget(vbox(widget, margins=(SPACING.l, 0, SPACING.l, bottom)))


def takes_several_targets(draft: Draft) -> bool:
    """Whether the task is about labels, which mostly have a column each."""
    dataset = draft.settings()["dataset"]
    apart = dataset.get("label_separator", "none") == "none"
    takes = getattr(alternatives("objective")[draft.kind("objective")], "takes", ())
    return apart and (dataset.get("task") in ("labels", "tasks") or "labels" in takes or "tasks" in takes)
