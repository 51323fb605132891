"""``[objective]``: the task, its loss and what is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import Field

from training.config.field_spec import FieldSpec
from training.config.fields import Fraction, ShareAboveZero, ShareBelowOne, advanced, setting
from training.config.rules.signature import LOSS
from training.config.sections.embedding import Embedding
from training.config.sections.multi_task import MultiTask
from training.config.sections.objective_section import ObjectiveSection
from training.config.sections.own_file import Argument, OwnFile
from training.config.sections.user_file import UserFile
from training.facts import IGNORED
from training.toml_text import Toml

LabelSmoothing = Annotated[
    ShareBelowOne,
    setting(
        title="Label smoothing",
        help="Share of each target spread over all classes; 0.1 often helps large models a little.",
    ),
]
BalancedClasses = Annotated[
    bool,
    setting(
        title="Balanced class weights",
        help="Weigh each class by how rare it is among the training samples, so that together they count alike "
        '(class_weight="balanced").',
        also="balanced classes imbalance",
    ),
]
ClassWeights = Annotated[
    tuple[Annotated[float, Field(ge=0.0, le=1e6)], ...],
    advanced(
        title="Class weights",
        help="Weight of each class in the loss, in the data's order, for example 1, 5 (weight). Empty: all count alike.",
        strict=False,
        max_length=100_000,
    ),
]
Threshold = Annotated[
    Fraction,
    advanced(
        title="Decision threshold", help="From this probability on the answer is yes. Changes metrics, not the loss."
    ),
]
LossWeight = Annotated[float, advanced(help="In the weighted sum of losses.", ge=0.0, le=1e6)]


class Classification(ObjectiveSection):
    """Each sample belongs to exactly one class."""

    takes = ("class",)
    reports = ("accuracy", "top5_accuracy", "f1")

    kind: Literal["classification"] = "classification"
    loss: Literal["cross_entropy"] = setting(
        "cross_entropy", "Loss", "Cross-entropy over the class logits, softmax inside the loss (CrossEntropyLoss)."
    )
    label_smoothing: LabelSmoothing = 0.0
    balanced: BalancedClasses = False
    class_weights: ClassWeights = ()
    ignore_index: int = advanced(
        IGNORED,
        "Ignore index",
        "Number of a class, counted from 0, whose samples are ignored in the loss and the metrics. -100: none.",
        also="class to ignore",
        ge=IGNORED,
        le=2**31 - 1,
    )
    ranking_metrics: bool = advanced(
        False, "AUROC and average precision", "Measure these, too, one-vs-rest. Slow for hundreds of classes."
    )

    @property
    def metrics(self) -> tuple[str, ...]:
        return (*self.reports, *(("auroc", "average_precision") if self.ranking_metrics else ()))


class Binary(ObjectiveSection):
    """Two classes, of which the second is the positive one, with a decision threshold."""

    takes = ("class",)
    reports = ("accuracy", "f1", "precision", "recall", "auroc", "average_precision")

    kind: Literal["binary"] = "binary"
    loss: Literal["bce_with_logits"] = setting(
        "bce_with_logits", "Loss", "Binary cross-entropy over one logit, sigmoid inside the loss (BCEWithLogitsLoss)."
    )
    pos_weight: float | None = setting(
        None,
        "Positive class weight",
        "How much more a sample of the positive class counts; above 1 finds more of them, with more false positives.",
        placeholder="1",
        gt=0.0,
        le=1e6,
    )
    balanced: BalancedClasses = setting(
        False, help="Take as positive class weight how many times fewer positive samples there are to train on."
    )
    threshold: Threshold = 0.5


class MultiLabel(ObjectiveSection):
    """Each sample may carry any number of labels."""

    takes = ("labels",)
    reports = ("f1", "f1_micro", "subset_accuracy", "auroc", "mean_average_precision")

    kind: Literal["multi_label"] = "multi_label"
    loss: Literal["bce_with_logits"] = setting(
        "bce_with_logits",
        "Loss",
        "Binary cross-entropy over the logit of each label, sigmoid inside the loss (BCEWithLogitsLoss), the mean over labels.",
    )
    balanced: BalancedClasses = setting(
        False,
        "Balanced label weights",
        "Let the samples with a label count as much as those without it, for each label.",
    )
    pos_weight: tuple[Annotated[float, Field(gt=0.0, le=1e6)], ...] = advanced(
        (),
        "Positive weights",
        "For each label, how much more its samples count: 3, 10. Empty: 1.",
        strict=False,
        max_length=100_000,
    )
    threshold: Threshold = 0.5


class Regression(ObjectiveSection):
    """One number or several are predicted for each sample."""

    takes = ("values",)
    reports = ("r2", "rmse", "mae", "spearman")

    kind: Literal["regression"] = "regression"
    loss: Literal["mse", "l1", "huber", "weighted_sum"] = setting(
        "mse",
        "Loss",
        "MSE: squared errors. L1: absolute ones, which outliers pull less. Huber: squared up to delta, absolute beyond. "
        "Weighted sum: all three by their weights.",
        also="MSELoss L1Loss MAE HuberLoss SmoothL1",
    )
    delta: float = advanced(
        1.0,
        "Huber delta",
        "Where the Huber loss turns from squared to absolute; in standard deviations where targets are standardized.",
        gt=0.0,
        le=1e12,
    )
    standardise: bool = setting(
        True,
        "Standardize targets",
        "Learn each target in standard deviations from its mean over the training samples (StandardScaler). Predictions, metrics "
        "and exported models are in its own unit all the same.",
        also="standardise normalize",
    )
    mse_weight: LossWeight = setting(1.0, "MSE weight")
    l1_weight: LossWeight = setting(1.0, "L1 weight")
    huber_weight: LossWeight = setting(0.0, "Huber weight")


class Ranking(ObjectiveSection):
    """The items of a query are ranked, the most relevant first."""

    takes = ("ranks",)
    reports = ("ndcg", "mrr", "pair_accuracy")

    kind: Literal["ranking"] = "ranking"
    loss: Literal["margin_ranking"] = setting(
        "margin_ranking",
        "Loss",
        "Of any two items of a query, the more relevant should score higher by the margin (MarginRankingLoss). The mean over a "
        "query's pairs, then over the queries.",
    )
    margin: float = setting(
        1.0, "Margin", "How much higher the score has to be before a pair costs nothing.", ge=0.0, le=1e6
    )
    top: int = advanced(
        10, "NDCG@k", "How many ranks from the top NDCG looks at (k).", also="NDCG places", ge=1, le=100_000
    )


class Distillation(ObjectiveSection):
    """A small network learns classes from samples and from the answers of a trained one, its teacher."""

    takes = ("class",)
    reports = ("accuracy", "agreement")

    kind: Literal["distillation"] = "distillation"
    teacher: str = setting(
        title="Teacher",
        help="Folder of another run or of one of its checkpoints, which learned the same classes from samples of the same shape; "
        "or a Python file of your own with build(...), as for the model user_file, that answers a logit for each class, in "
        "the data's order.",
        path="any",
        min_length=1,
    )
    teacher_trusted: str | None = setting(
        None,
        "Permission to run teacher's code",
        "SHA-256 of the code that the teacher brings, as it was when you agreed to run it. A changed file is not run until "
        "you agree again.",
        placeholder="not yet",
        consent="teacher",
        affects_result=False,  # the code itself does, and is compared
    )
    teacher_weights: str | None = setting(
        None,
        "Teacher weights",
        "Of a teacher in a Python file: the file with all weights of its network (.safetensors, .pth, .pt). A checkpoint has "
        "its own.",
        placeholder="those of the checkpoint",
        path="file",
    )
    temperature: float = setting(
        4.0, "Temperature", "Divides the logits of both (T); more shows how similar classes are.", gt=0.0, le=1000.0
    )
    alpha: ShareAboveZero = setting(
        0.7,
        "Distillation weight (alpha)",
        "alpha * KL divergence from the teacher * temperature² + (1 - alpha) * cross-entropy with the true class.",
        also="share of the teacher",
    )
    teacher_inputs: Literal["run", "plain", "imagenet"] = advanced(
        "run",
        "Teacher preprocessing",
        "How a teacher in a Python file knows its inputs. As this run: normalized as for this run's own network. None: images "
        "from 0 to 1, numbers as the data has them. ImageNet: images by ImageNet's mean and std. A checkpoint knows.",
        also="teacher's inputs",
        labels={"run": "As this run", "plain": "None"},
    )
    teacher_arguments: dict[str, Argument] = setting(
        {}, "Teacher arguments", "What build(...) is called with, besides what the data fills in."
    )

    @classmethod
    def rows(cls, name: str, values: Mapping[str, Toml]) -> list[FieldSpec]:
        """The parameters of the teacher's ``build``, where it is a Python file."""
        if name != "teacher_arguments":
            return []
        found = UserFile.rows("arguments", {"path": values.get("teacher")})
        return [replace(spec, name=f"teacher_{spec.name}", title=f"Teacher: {spec.title}") for spec in found]


class Segmentation(ObjectiveSection):
    """Each pixel of an image belongs to a class; those of the ignore index count nowhere."""

    takes = ("mask",)
    reports = ("mean_iou", "dice", "pixel_accuracy")

    kind: Literal["segmentation"] = "segmentation"
    loss: Literal["cross_entropy", "dice", "dice_cross_entropy", "dice_bce"] = setting(
        "cross_entropy",
        "Loss",
        "Cross-entropy: pixel by pixel. Dice: the overlap of areas, which small ones count in as much as large ones. Dice + "
        "cross-entropy: both. Dice + binary cross-entropy: both over one logit, for two classes.",
    )
    dice_weight: Fraction = setting(
        0.5, "Dice weight", "dice_weight * Dice loss + (1 - dice_weight) * cross-entropy.", also="share of Dice"
    )
    smooth: float = advanced(
        1.0, "Dice smoothing", "Pixels added above and below in Dice: steadies small areas.", ge=0.0, le=1e6
    )
    balanced: BalancedClasses = setting(
        False,
        help="Weigh each class in the cross-entropy by how rare its pixels are in training, so that all count alike.",
    )
    class_weights: ClassWeights = setting((), max_length=256)


class LanguageModel(ObjectiveSection):
    """The next token is predicted at every position of a text."""

    takes = ("tokens",)
    reports = ("perplexity", "accuracy", "bits_per_character")

    kind: Literal["language_model"] = "language_model"
    loss: Literal["cross_entropy"] = setting(
        "cross_entropy",
        "Loss",
        "Cross-entropy of the next token (CrossEntropyLoss), the mean over tokens; positions marked -100 are ignored in the loss.",
    )
    label_smoothing: LabelSmoothing = advanced(
        0.0, help="Share of each target spread over all tokens. Perplexity is measured without it."
    )
    sample_tokens: int = advanced(
        0,
        "Sample text",
        "Tokens of text that the model writes after each validation, shown on the Run page; 0: none. They change nothing of the run.",
        unit="tokens",
        also="generate samples",
        ge=0,
        le=10_000,
        affects_result=False,
    )
    sample_prompt: str = advanced(
        "",
        "Sample prompt",
        "What that text begins with. Empty: a line break, or the first token of the vocabulary.",
        placeholder="a line break",
        max_length=10_000,
        affects_result=False,
    )


class OwnLoss(ObjectiveSection, OwnFile):
    """A loss of your own: a Python file with a function build(...) that returns it; what is measured beside it is a task's."""

    takes = ("class", "labels", "values", "mask")
    purpose = LOSS

    kind: Literal["user_loss"] = "user_loss"
    path: str = setting(
        title="Python file",
        help="A file that defines build(...), which returns the loss: a torch.nn.Module or a function of outputs and targets that "
        "answers the batch's mean, or a number for each sample. Its parameters become settings here; classes is filled in from the data.",
        path="file",
        min_length=1,
    )
    task: Literal["classification", "multi_label", "regression", "segmentation"] = setting(
        "classification",
        "Task",
        "What the outputs are taken for, and what is measured beside the loss: class logits, logits of labels, values in their own unit, "
        "or class logits of pixels.",
        labels={"multi_label": "Multi-label classification", "segmentation": "Semantic segmentation"},
    )
    arguments: dict[str, Argument] = setting(
        {}, "Arguments of build()", "What build(...) is called with, besides what the data fills in."
    )

    @property
    def measured(self) -> Classification | MultiLabel | Regression | Segmentation:
        """The task whose metrics are reported."""
        if self.task == "regression":
            return Regression(standardise=False)
        return {"classification": Classification, "multi_label": MultiLabel, "segmentation": Segmentation}[self.task]()

    @property
    def metrics(self) -> tuple[str, ...]:
        return self.measured.metrics


Objective = Annotated[
    Classification
    | Binary
    | MultiLabel
    | Regression
    | Ranking
    | Distillation
    | Embedding
    | Segmentation
    | LanguageModel
    | MultiTask
    | OwnLoss,
    Field(discriminator="kind"),
]
