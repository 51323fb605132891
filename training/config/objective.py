"""``[objective]``: the task, its loss and what is measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from training.config.describe import FieldSpec
from training.config.fields import Section, setting
from training.config.user_file import Argument, UserFile
from training.facts import IGNORED, Target

Weight = Annotated[float, Field(ge=0.0, le=1e6)]

_CLASS_WEIGHTS = "Weight of each class in the loss, in the data's order, for example 1, 5. Empty: all count alike."
_BALANCE = "Weigh each class by how rare it is among the training samples, so that together they count alike."
_THRESHOLD = "From this probability on the answer is yes. Changes metrics, not the loss."


class ObjectiveSection(Section):
    """What is known of every task: the targets it takes."""

    takes: ClassVar[tuple[Target, ...]]

    @property
    def metrics(self) -> tuple[str, ...]:
        """What it reports beside the loss, the usual one first; some only where the data allows them."""
        raise NotImplementedError


class Classification(ObjectiveSection):
    """Each sample belongs to exactly one class."""

    takes = ("class",)

    kind: Literal["classification"] = "classification"
    loss: Literal["cross_entropy"] = setting(
        "cross_entropy", title="Loss", help="Cross-entropy over the class logits (softmax inside the loss)."
    )
    label_smoothing: float = setting(
        0.0,
        title="Label smoothing",
        help="Share of each target spread over all classes; 0.1 often helps large models a little.",
        ge=0.0,
        lt=1.0,
    )
    balanced: bool = setting(False, title="Balanced classes", help=_BALANCE)
    class_weights: tuple[Weight, ...] = setting(
        (), title="Class weights", help=_CLASS_WEIGHTS, advanced=True, strict=False, max_length=100_000
    )
    ignore_index: int = setting(
        IGNORED,
        title="Class to ignore",
        help="Number of a class, counted from 0, whose samples are neither learnt from nor counted. -100: none.",
        advanced=True,
        ge=IGNORED,
        le=2**31 - 1,
    )
    ranking_metrics: bool = setting(
        False,
        title="AUROC and average precision",
        help="Measure these, too, each class against the rest. Slow for hundreds of classes.",
        advanced=True,
    )

    @property
    def metrics(self) -> tuple[str, ...]:
        more = ("auroc", "average_precision") if self.ranking_metrics else ()
        return ("accuracy", "top5_accuracy", "f1", *more)


class Binary(ObjectiveSection):
    """Yes or no: two classes, of which the second is the one to find."""

    takes = ("class",)

    kind: Literal["binary"] = "binary"
    loss: Literal["bce_with_logits"] = setting(
        "bce_with_logits", title="Loss", help="Binary cross-entropy over one logit (sigmoid inside the loss)."
    )
    pos_weight: float | None = setting(
        None,
        title="Positive weight",
        help="How much more a sample of the second class counts; above 1 finds more of them, with more false alarms.",
        placeholder="1",
        gt=0.0,
        le=1e6,
    )
    balanced: bool = setting(
        False,
        title="Balanced classes",
        help="Take as positive weight how many times fewer samples of the second class there are to train on.",
    )
    threshold: float = setting(0.5, title="Threshold", help=_THRESHOLD, advanced=True, gt=0.0, lt=1.0)

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("accuracy", "f1", "precision", "recall", "auroc", "average_precision")


class MultiLabel(ObjectiveSection):
    """Each sample may carry any number of labels."""

    takes = ("labels",)

    kind: Literal["multi_label"] = "multi_label"
    loss: Literal["bce_with_logits"] = setting(
        "bce_with_logits",
        title="Loss",
        help="Binary cross-entropy over the logit of each label (sigmoid inside the loss), the mean over labels.",
    )
    balanced: bool = setting(
        False,
        title="Balanced labels",
        help="Let the samples that carry a label count as much as those without it, for each label by itself.",
    )
    pos_weight: tuple[Annotated[float, Field(gt=0.0, le=1e6)], ...] = setting(
        (),
        title="Positive weights",
        help="For each label, how much more a sample that carries it counts, for example 3, 10. Empty: 1 for all.",
        advanced=True,
        strict=False,
        max_length=100_000,
    )
    threshold: float = setting(0.5, title="Threshold", help=_THRESHOLD, advanced=True, gt=0.0, lt=1.0)

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("f1", "f1_micro", "subset_accuracy", "auroc", "mean_average_precision")


class Regression(ObjectiveSection):
    """One number or several are predicted for each sample."""

    takes = ("values",)

    kind: Literal["regression"] = "regression"
    loss: Literal["mse", "l1", "huber", "weighted_sum"] = setting(
        "mse",
        title="Loss",
        help="mse: squared errors. l1: absolute ones, which outliers pull less. huber: squared up to delta, absolute beyond. "
        "weighted_sum: all three by their weights.",
    )
    delta: float = setting(
        1.0,
        title="Delta",
        help="Where the Huber loss turns from squared to absolute; in standard deviations where targets are standardised.",
        advanced=True,
        gt=0.0,
        le=1e12,
    )
    standardise: bool = setting(
        True,
        title="Standardise targets",
        help="Learn each target in standard deviations from its mean over the training samples. Predictions, metrics and "
        "exported models are in its own unit all the same.",
    )
    mse_weight: float = setting(1.0, title="Weight of MSE", help="In a weighted sum.", advanced=True, ge=0.0, le=1e6)
    l1_weight: float = setting(1.0, title="Weight of L1", help="In a weighted sum.", advanced=True, ge=0.0, le=1e6)
    huber_weight: float = setting(
        0.0, title="Weight of Huber", help="In a weighted sum.", advanced=True, ge=0.0, le=1e6
    )

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("r2", "rmse", "mae", "spearman")


class Ranking(ObjectiveSection):
    """The items of a query are put in order, the most suitable first."""

    takes = ("ranks",)

    kind: Literal["ranking"] = "ranking"
    loss: Literal["margin_ranking"] = setting(
        "margin_ranking",
        title="Loss",
        help="Of any two items of a query, the more suitable should score higher by the margin. The mean over a query's pairs, "
        "then over the queries.",
    )
    margin: float = setting(
        1.0, title="Margin", help="How much higher the score has to be before a pair costs nothing.", ge=0.0, le=1e6
    )
    top: int = setting(
        10, title="NDCG places", help="How many places from the top NDCG looks at.", advanced=True, ge=1, le=100_000
    )

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("ndcg", "mrr", "pair_accuracy")


class Distillation(ObjectiveSection):
    """A network learns classes from samples and from what a trained one, its teacher, answers to them."""

    takes = ("class",)

    kind: Literal["distillation"] = "distillation"
    teacher: str = setting(
        title="Teacher",
        help="Folder of another run or of one of its checkpoints, which learnt the same classes from samples of the same shape; "
        "or a Python file of your own with build(...), as for the model user_file, that answers a logit for each class, in "
        "the data's order.",
        path="any",
        min_length=1,
    )
    teacher_trusted: str | None = setting(
        None,
        title="Teacher's code",
        help="SHA-256 of the code that the teacher brings, as it was when you agreed to run it. A changed file is not run until "
        "you agree again.",
        placeholder="not yet",
        consent="teacher",
        affects_result=False,  # the code itself does, and is compared
    )
    teacher_weights: str | None = setting(
        None,
        title="Teacher's weights",
        help="Of a teacher in a Python file: the file with all weights of its network (.safetensors, .pth, .pt). A checkpoint "
        "has its own.",
        placeholder="those of the checkpoint",
        path="file",
    )
    temperature: float = setting(
        4.0,
        title="Temperature",
        help="Divides the logits of both; above 1 shows how similar the teacher finds the wrong classes.",
        gt=0.0,
        le=1000.0,
    )
    alpha: float = setting(
        0.7,
        title="Share of the teacher",
        help="alpha * KL divergence from the teacher * temperature² + (1 - alpha) * cross-entropy with the true class.",
        gt=0.0,
        le=1.0,
    )
    teacher_inputs: Literal["run", "plain", "imagenet"] = setting(
        "run",
        title="Teacher's inputs",
        help="How a teacher in a Python file knows its inputs. run: normalised as for this run's own network. plain: pictures "
        "from 0 to 1, numbers as the data has them. imagenet: pictures by ImageNet's mean and spread. A checkpoint knows.",
        advanced=True,
    )
    teacher_arguments: dict[str, Argument] = setting(
        {}, title="Teacher's arguments", help="What build(...) is called with, besides what the data fills in."
    )

    @classmethod
    def rows(cls, name: str, values: Mapping[str, Any]) -> list[FieldSpec]:
        """The parameters of the teacher's ``build``, where it is a Python file."""
        if name != "teacher_arguments":
            return []
        found = UserFile.rows("arguments", {"path": values.get("teacher")})
        return [replace(spec, name=f"teacher_{spec.name}", title=f"Teacher: {spec.title}") for spec in found]

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("accuracy", "agreement")


class Segmentation(ObjectiveSection):
    """Each pixel belongs to a class; pixels that the mask marks to be ignored count nowhere."""

    takes = ("mask",)

    kind: Literal["segmentation"] = "segmentation"
    loss: Literal["cross_entropy", "dice", "dice_cross_entropy", "dice_bce"] = setting(
        "cross_entropy",
        title="Loss",
        help="cross_entropy: pixel by pixel. dice: the overlap of areas, which small ones count in as much as large ones. "
        "dice_cross_entropy: both. dice_bce: both over one logit, for two classes.",
    )
    dice_weight: float = setting(
        0.5,
        title="Share of Dice",
        help="Where both are used: dice_weight * Dice loss + (1 - dice_weight) * cross-entropy.",
        gt=0.0,
        lt=1.0,
    )
    smooth: float = setting(
        1.0,
        title="Dice smoothing",
        help="Added above and below the fraction in Dice, in pixels; steadies areas of few pixels.",
        advanced=True,
        ge=0.0,
        le=1e6,
    )
    balanced: bool = setting(
        False,
        title="Balanced classes",
        help="Weigh each class in the cross-entropy by how rare its pixels are in training, so that together they count alike.",
    )
    class_weights: tuple[Weight, ...] = setting(
        (), title="Class weights", help=_CLASS_WEIGHTS, advanced=True, strict=False, max_length=256
    )

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("mean_iou", "dice", "pixel_accuracy")


class LanguageModel(ObjectiveSection):
    """The next token is predicted at every place of a text."""

    takes = ("tokens",)

    kind: Literal["language_model"] = "language_model"
    loss: Literal["cross_entropy"] = setting(
        "cross_entropy",
        title="Loss",
        help="Cross-entropy of the next token, the mean over tokens; places marked -100 are ignored.",
    )
    label_smoothing: float = setting(
        0.0,
        title="Label smoothing",
        help="Share of each target spread over all tokens. Perplexity is measured without it.",
        advanced=True,
        ge=0.0,
        lt=1.0,
    )

    @property
    def metrics(self) -> tuple[str, ...]:
        return ("perplexity", "accuracy", "bits_per_character")


Objective = Annotated[
    Classification | Binary | MultiLabel | Regression | Ranking | Distillation | Segmentation | LanguageModel,
    Field(discriminator="kind"),
]
