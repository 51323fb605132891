"""The previews: asked late, dropped when stale, true to what the engine answers."""

from base64 import b64encode
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QImage
from pytestqt.qtbot import QtBot

from studio.pages.setup.page import SetupPage
from studio.pages.setup.previews.dataset_preview import DatasetPreview
from studio.pages.setup.previews.loop_preview import LoopPreview
from studio.pages.setup.previews.model_preview import ModelPreview
from studio.pages.setup.previews.optimization_preview import OptimizationPreview
from studio.panels.data.preview_frame import PreviewFrame
from studio.panels.samples.images import class_color, thumbnails
from studio.state.context import AppContext
from studio.widgets import KeyValueTable
from tests.studio.pages_setup.fakes import FakeContext, answer, model_summary, one_sample, refusal, report, words
from training.config.consent import agree
from training.errors import Problem
from training.protocol.answers import Sample
from training.protocol.messages import Refusal


def test_a_preview_that_comes_too_late_is_dropped(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    first = context.engine.inspections[-1]
    context.draft.set("dataset.samples", 600)
    qtbot.waitUntil(lambda: len(context.engine.inspections) == 2)
    assert first.inquiry.canceled
    first.done(report(99_999))  # a host that answers all the same
    assert page.previews.samples is None
    context.engine.inspections[-1].done(report(480))
    assert page.previews.samples == 480
    first.failed(refusal("Too late."))
    assert page.previews.dataset.refusal == ""


def test_a_page_that_is_left_before_it_asked_asks_when_it_is_seen_again(
    qtbot: QtBot, page: SetupPage, context: FakeContext
) -> None:
    """A run that begins meanwhile would have to share its cores with the answer."""
    answer(context)
    asked = len(context.engine.inspections)
    context.draft.set("dataset.samples", 600)
    page.hide()
    qtbot.wait(100)
    assert len(context.engine.inspections) == asked
    assert not page.previews.dataset.busy
    page.show()
    qtbot.waitUntil(lambda: len(context.engine.inspections) == asked + 1)


def test_what_a_preview_does_not_depend_on_asks_nothing(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    answer(context)
    context.draft.set("optimizer.lr", 0.5)
    context.draft.set("loop.epochs", 7)
    qtbot.wait(30)
    assert (len(context.engine.inspections), len(context.engine.summaries)) == (1, 1)
    context.draft.set("model.hidden", 64)
    qtbot.waitUntil(lambda: len(context.engine.summaries) == 2)
    assert len(context.engine.inspections) == 1


def test_typing_asks_once_for_the_last_letter(qtbot: QtBot, context: FakeContext) -> None:
    page = SetupPage(cast("AppContext", context), preview_delay=60)
    qtbot.addWidget(page)
    page.show()
    for samples in (700, 701, 702):
        context.draft.set("dataset.samples", samples)
    qtbot.waitUntil(lambda: bool(context.engine.inspections))
    qtbot.wait(90)
    assert [asked.config["dataset"]["samples"] for asked in context.engine.inspections] == [702]


def test_a_wrong_setting_elsewhere_does_not_stop_a_preview(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    context.draft.set("optimizer.lr", "x")
    context.draft.set("dataset.samples", 900)
    qtbot.waitUntil(lambda: len(context.engine.inspections) == 2)
    assert context.engine.inspections[-1].config["dataset"]["samples"] == 900
    context.draft.set("dataset.samples", "many")
    frame = page.panels[0].preview
    assert isinstance(frame, PreviewFrame)
    assert "Fix the highlighted fields" in frame.message()


def test_nothing_is_asked_while_the_page_is_hidden(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    page.hide()
    context.draft.set("dataset.samples", 900)
    qtbot.wait(30)
    assert len(context.engine.inspections) == 1
    page.show()
    qtbot.waitUntil(lambda: len(context.engine.inspections) == 2)


def test_a_refusal_is_a_sentence_without_the_dotted_path(page: SetupPage, context: FakeContext) -> None:
    context.engine.inspections[-1].failed(refusal("holds no class folder; choose another.", "dataset.path"))
    frame = page.panels[0].preview
    assert isinstance(frame, PreviewFrame)
    assert frame.message() == "No samples to show: Holds no class folder; choose another."


def test_the_samples_can_be_seen_varied_and_as_they_are() -> None:
    samples = [Sample.model_validate(one_sample())]
    (varied,) = thumbnails(samples, varied=True)
    (original,) = thumbnails(samples, varied=False)
    assert varied.image.pixelColor(1, 1).name() == "#ff0000"
    assert original.image.pixelColor(0, 1).name() == "#0000ff"
    assert varied.image.format() == QImage.Format.Format_RGB888


def test_the_samples_are_one_row_as_the_model_sees_them_and_lead_to_the_data_page(
    qtbot: QtBot, page: SetupPage, context: FakeContext
) -> None:
    preview = preview_of(page)
    images = [one_sample(place=place, label=f"at {place}") for place in range(24)]
    context.engine.inspections[-1].done(report(first_page={"total": 4800, "samples": images}))
    assert words(preview.samples).endswith("augmented")
    qtbot.waitUntil(lambda: 1 < preview.images.model().columnCount() < 24)
    assert preview.images.model().rowCount() == 1
    shown = preview.images.model().index(0, 1).data(Qt.ItemDataRole.UserRole)
    assert (shown.caption, shown.image.pixelColor(1, 1).name()) == ("at 1", "#ff0000")
    with qtbot.waitSignal(page.previews.look.sample_asked) as asked:
        cell = preview.images.visualRect(preview.images.model().index(0, 1)).center()
        qtbot.mouseClick(preview.images.viewport(), Qt.MouseButton.LeftButton, pos=cell)
    assert (asked.args, context.shown) == ([1], ["data"])
    as_it_is = one_sample(original_base64=one_sample()["pixels_base64"])
    context.engine.inspections[-1].done(report(first_page={"total": 4800, "samples": [as_it_is]}))
    assert "augmented" not in words(preview.samples)


def preview_of(page: SetupPage) -> DatasetPreview:
    preview = page.findChild(DatasetPreview)
    assert isinstance(preview, DatasetPreview)
    return preview


NOTES = [
    "The folder val validates.",
    "Classes are left out; see dataset.task and dataset.color, or --set loader.cache=off.",
]


def test_the_dataset_preview_tells_of_classes_and_what_was_left_out(page: SetupPage, context: FakeContext) -> None:
    skipped = [{"path": "Müll/leer.png", "reason": "the file is empty"}]
    names = ["Kreis", *(f"class {number}" for number in range(7))]
    context.engine.inspections[-1].done(report(classes=names, skipped=skipped, skipped_total=3, notes=NOTES))
    told = words(preview_of(page))
    assert "3; the first is Müll/leer.png: the file is empty" in told
    assert "8: Kreis, class 0, class 1, class 2, class 3, class 4 and 2 more" in told
    assert "4,800 for training, 1,200 for validation" in told
    assert (
        "The folder val validates.\nClasses are left out; see Task and Color mode, or --set loader.cache=off." in told
    )


def test_points_are_drawn_as_points(page: SetupPage, context: FakeContext) -> None:
    points = {"x": [0.0, 1.0], "y": [0.0, -1.0], "label": ["a", "b"]}
    answer_of_points = report(layout="vector", shape=[2], points=points)
    del answer_of_points["first_page"]
    context.engine.inspections[-1].done(answer_of_points)
    preview = preview_of(page)
    assert preview.scatter.isVisible()
    assert not preview.images.isVisible()
    page.grab()


def test_a_passage_of_a_text_is_shown_token_by_token(page: SetupPage, context: FakeContext) -> None:
    texts = [{"name": "tokens 0 to 2", "tokens": ["the", " fox"]}, {"name": "tokens 2 to 4", "tokens": ["a"]}]
    found: dict[str, Any] = {"layout": "tokens", "target": "tokens", "shape": [2], "vocabulary": "bpe"}
    context.engine.inspections[-1].done(report(**found, first_page={"total": 2, "texts": texts}))
    preview = preview_of(page)
    assert preview.passage.text().count("<span") == 2
    assert not preview.images.isVisible()


def test_the_model_preview_shows_layers_and_figures(page: SetupPage, context: FakeContext) -> None:
    answer(context)
    page.tabs.setCurrentIndex(1)
    preview = page.findChild(ModelPreview)
    assert isinstance(preview, ModelPreview)
    text = words(preview)
    assert "1,000,000" in text
    assert "4 MB" in text
    assert "3×32×32" in text


def test_the_schedule_is_drawn_over_the_real_steps_and_says_when_it_guesses(
    qtbot: QtBot, page: SetupPage, context: FakeContext
) -> None:
    page.tabs.setCurrentIndex(2)
    preview = page.findChild(OptimizationPreview)
    assert isinstance(preview, OptimizationPreview)
    assert "10,000 training samples are assumed" in preview.basis.text()
    answer(context)
    assert preview.basis.text() == "Over 375 steps: 5 epochs of 75."
    assert preview.sentence.text().endswith("From 1.2e-4 at the first step to 1.2e-8 at the last.")
    context.draft.set("loop.swa_start", 0.5)
    context.draft.set("loop.swa_lr", 0.002)
    qtbot.waitUntil(lambda: preview.sentence.text().endswith("From step 187 on SWA holds it at 0.002."))
    context.draft.set("loop.swa_lr", "")
    context.draft.set("schedule.pct_start", "x")
    assert preview.sentence.text() == ""


def test_the_groups_of_parameters_are_the_engines(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    page.tabs.setCurrentIndex(2)
    preview = page.findChild(OptimizationPreview)
    assert isinstance(preview, OptimizationPreview)
    qtbot.waitUntil(lambda: "Weight decay 0.01, where it is applied" in words(preview))
    answer(context)
    qtbot.waitUntil(lambda: "999,000" in words(preview))
    text = words(preview)
    assert "Weights" in text
    assert "999,000 parameters in 3 tensors, weight decay 0.01" in text
    assert "Biases, norms, embeddings, head" in text
    assert "1,000 parameters in 1 tensor, no weight decay, rate ×\u00a010" in text
    assert "50 parameters in 2 tensors, not trained" in text
    context.draft.set("optimizer.weight_decay", 0.0)
    qtbot.waitUntil(lambda: "999,000 parameters in 3 tensors, no weight decay" in words(preview))
    asked = len(context.engine.summaries)
    context.draft.set("optimizer.layer_decay", 0.9)
    qtbot.waitUntil(lambda: len(context.engine.summaries) == asked + 1)


def test_the_loop_preview_estimates_steps_and_disk(page: SetupPage, context: FakeContext) -> None:
    answer(context)
    page.tabs.setCurrentIndex(3)
    preview = page.findChild(LoopPreview)
    assert isinstance(preview, LoopPreview)
    text = words(preview)
    assert "375" in text
    assert "About 12 MB for each checkpoint, 48 MB for the 4 kept" in text  # weights and Adam's two moments
    context.draft.set("loop.batch_size", 0)
    assert preview.findChild(KeyValueTable) is not None
    assert "About" not in words(preview)


def test_masks_lie_over_their_images_in_the_colors_of_the_classes() -> None:
    """Half of each; what is ignored shows the image alone."""
    gray, mask = bytes([100] * 12), bytes([0, 1, 255, 0])
    pixels = {key: b64encode(gray).decode() for key in ("pixels_base64", "original_base64")}
    masks = {key: b64encode(mask).decode() for key in ("mask_base64", "original_mask_base64")}
    thumbnail = {"label": "a_long_file_name", "index": 3, "width": 2, "height": 2, "channels": 3, **pixels, **masks}
    (shown,) = thumbnails([Sample.model_validate(thumbnail)], varied=True)
    colors = [QColor(class_color(number)) for number in (0, 1)]
    for place, color in (((0, 0), colors[0]), ((1, 0), colors[1]), ((1, 1), colors[0])):
        assert rgb(shown.image.pixelColor(*place)) == tuple((100 + value) // 2 for value in rgb(color))
    assert shown.image.pixelColor(0, 1) == QColor(100, 100, 100)
    assert shown.caption == "…le_name"


def test_no_two_classes_have_colors_that_look_alike() -> None:
    colors = [rgb(QColor(class_color(number))) for number in range(24)]
    for number, first in enumerate(colors):
        assert all(max(abs(a - b) for a, b in zip(first, second, strict=True)) > 25 for second in colors[:number])


def rgb(color: QColor) -> tuple[int, int, int]:
    return color.red(), color.green(), color.blue()


def test_a_refused_preview_is_asked_again_after_any_change(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    """What was wrong may lie outside the dataset: no complaint stays for good."""
    context.engine.inspections[-1].failed(refusal("Is no dataset.", "dataset.samples"))
    assert [problem.path for problem in context.draft.problems()] == ["dataset.samples"]
    context.draft.set("loop.epochs", 7)
    qtbot.waitUntil(lambda: len(context.engine.inspections) == 2)
    assert [problem.path for problem in context.draft.problems()] == ["dataset.samples"]
    context.engine.inspections[-1].done(report())
    assert page.previews.dataset.refusal == ""
    assert not context.draft.problems()


def test_what_the_engine_refuses_to_build_is_marked_with_its_way_out(
    qtbot: QtBot, page: SetupPage, context: FakeContext
) -> None:
    answer(context)
    context.draft.set("model.hidden", 64)
    qtbot.waitUntil(lambda: len(context.engine.summaries) == 2)
    problem = Problem("model.kind", "takes other data; choose mlp.", {"model.kind": "mlp"})
    context.engine.summaries[-1].failed(
        Refusal(message="model.kind: takes other data; choose mlp.", problems=(problem,))
    )
    (marked,) = context.draft.problems()
    assert (marked.path, dict(marked.fix)) == ("model.kind", {"model.kind": "mlp"})
    assert context.draft.config() is None
    context.draft.apply(marked.fix)
    assert not context.draft.problems()
    qtbot.waitUntil(lambda: len(context.engine.summaries) == 3)
    context.engine.summaries[-1].done(model_summary())
    assert context.draft.config() is not None


def test_a_folder_and_an_argument_that_the_engine_refuses_are_marked_with_their_tab(
    qtbot: QtBot, page: SetupPage, context: FakeContext, tmp_path: Path
) -> None:
    code = tmp_path / "network.py"
    code.write_text("def build(channels: int, outputs: int, width: int = 8): ...")
    context.draft.set_kind("dataset", "image_folder")
    context.draft.set("dataset.path", str(tmp_path))
    context.draft.set_kind("model", "user_file")
    context.draft.set("model.path", str(code))
    digest = sha256(code.read_bytes()).hexdigest()
    agree(digest, code.name)
    context.draft.set("model.trusted", digest)
    context.draft.set("model.arguments.width", 0)
    qtbot.waitUntil(lambda: context.engine.inspections[-1].config["dataset"]["kind"] == "image_folder")
    qtbot.waitUntil(lambda: context.engine.summaries[-1].config["model"].get("arguments") == {"width": 0})
    context.engine.inspections[-1].failed(refusal(f"{tmp_path} holds images of one class only."))
    context.engine.summaries[-1].failed(refusal(f"{tmp_path}/network.py, line 3: cannot build the network."))
    marked = [path for path, _ in page.problem_sentences()]
    assert marked == ["dataset.path", "model.arguments.width"]
    assert context.draft.config() is None
    asked = len(context.engine.inspections)
    context.draft.recheck()  # the person comes back from the file manager
    qtbot.waitUntil(lambda: len(context.engine.inspections) > asked)
    context.engine.inspections[-1].done(report())
    context.engine.summaries[-1].failed(refusal("The engine ended."))  # no setting's fault
    assert not context.draft.engine_problems()


def test_another_task_builds_another_network(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    answer(context)
    context.draft.set_kind("objective", "regression")
    assert page.previews.model.refusal == "Fix the highlighted fields to see a preview."
    context.draft.undo()
    qtbot.waitUntil(lambda: len(context.engine.summaries) == 2)
    assert len(context.engine.inspections) == 1


def test_the_outputs_of_the_network_are_told(page: SetupPage, context: FakeContext) -> None:
    (preview,) = page.findChildren(ModelPreview)
    context.engine.summaries[-1].done(model_summary() | {"outputs": 1_234})
    texts = words(preview).split("\n")
    assert texts[texts.index("Outputs") + 1] == "1,234"


def test_a_setting_that_does_nothing_says_so(qtbot: QtBot, page: SetupPage, context: FakeContext) -> None:
    def notes() -> dict[str, str]:
        rows = {path: row for form in page.forms for path, row in form.rows().items()}
        return {path: row.inactive.why for path, row in rows.items() if row.inactive.why}

    context.draft.set_kind("schedule", "one_cycle")
    context.draft.set("schedule.max_lr", 0.01)
    assert notes()["optimizer.lr"] == "No effect while Max LR is set."
    context.draft.set_kind("dataset", "image_folder")
    context.draft.set("dataset.path", str(Path(__file__).parent))
    assert "dataset.validation_fraction" not in notes()
    asked = len(context.engine.inspections)
    qtbot.waitUntil(lambda: len(context.engine.inspections) > asked)
    context.engine.inspections[-1].done(report(480) | {"given": ["train", "validation"]})
    assert notes()["dataset.validation_fraction"] == "No effect: the data has a validation part of its own."
    context.draft.set("dataset.path", str(Path(__file__).parents[1]))
    assert "dataset.validation_fraction" not in notes()  # nobody has looked there yet
    context.draft.set("schedule.max_lr", None)
    assert "optimizer.lr" not in notes()
