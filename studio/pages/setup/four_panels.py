"""Which forms and which preview stand on each panel of the Setup page."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from PySide6.QtWidgets import QWidget

from studio.actions.places import ask_for_study
from studio.forms.kinds.chooser import CardChooser
from studio.forms.section_form import SectionForm
from studio.pages.setup.loop_form import LoopForm
from studio.pages.setup.panel import Panel
from studio.pages.setup.previews.dataset_preview import DatasetPreview, browse_button
from studio.pages.setup.previews.loop_preview import LoopPreview
from studio.pages.setup.previews.model_preview import ModelPreview
from studio.pages.setup.previews.optimization_preview import OptimizationPreview
from studio.pages.setup.previews.preview_model import PreviewModel
from studio.pages.setup.schedule_form import ScheduleForm
from studio.pages.setup.where_card import WhereCard
from studio.panels.data.preview_frame import PreviewFrame
from studio.panels.data.table_card import TableCard
from studio.state.context import AppContext
from studio.state.drafts.draft import Draft
from studio.state.drafts.setting_specs import RUN, specs


class PanelEntry(NamedTuple):
    """A panel, its tab's title, and the page of the help that tells of it."""

    title: str
    help_page: str
    panel: Panel


def make_panels(context: AppContext, draft: Draft, previews: PreviewModel, stack: QWidget) -> list[PanelEntry]:
    """The panels of ``stack`` in the order of their tabs."""
    form = partial(SectionForm, draft)
    run_settings = tuple(name for name in specs(RUN) if name != "name")
    dataset = PreviewFrame(
        previews.dataset, DatasetPreview(context, previews.look),
        icon_name="image", waiting="Reading the dataset", nothing="No samples to show",
        always=TableCard(previews.dataset, browse_button(context, previews.look)),
    )  # fmt: skip
    model = PreviewFrame(
        previews.model, ModelPreview(previews.model),
        icon_name="layers", waiting="Building the model", nothing="No layers to show",
    )  # fmt: skip
    network = [form("model", icon_name="layers"), form("objective", icon_name="flag")]
    if isinstance(network[1].chooser, CardChooser):
        network[1].chooser.count_classes = previews.count_classes
    if isinstance(network[0].chooser, CardChooser):
        network[0].chooser.list_lacking = lambda: context.engine.info.without_networks if context.engine.info else {}
    optimization = [form("optimizer", icon_name="sliders"), ScheduleForm(previews)]
    loop = [
        LoopForm(previews),
        form("precision", icon_name="cpu"),
        form("loader", icon_name="download"),
        form("checkpoints", icon_name="bookmark"),
        form(RUN, title="Reproducibility", icon_name="lock", only=run_settings),
    ]
    for each in (*network, *optimization, *loop):
        each.study_asked.connect(partial(ask_for_study, context))
    return [
        PanelEntry("Dataset", "data", Panel([form("dataset", icon_name="database")], dataset, stack)),
        PanelEntry("Model", "models", Panel(network, model, stack)),
        PanelEntry(
            "Optimizer && LR scheduler", "optimizer", Panel(optimization, OptimizationPreview(previews, context), stack)
        ),
        PanelEntry(
            "Precision && loop", "loop", Panel([*loop[:2], WhereCard(context), *loop[2:]], LoopPreview(previews), stack)
        ),
    ]
