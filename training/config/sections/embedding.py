"""``[objective]`` of metric learning."""

from __future__ import annotations

from typing import Literal

from training.config.fields import advanced, setting
from training.config.sections.objective_section import ObjectiveSection


class Embedding(ObjectiveSection):
    """Samples become vectors (embeddings) that lie close together where the class is the same, far apart where it is not."""

    compares_samples = True
    takes = ("class",)
    reports = ("recall_at_1", "recall_at_k")

    kind: Literal["embedding"] = "embedding"
    loss: Literal["triplet_margin", "contrastive", "supervised_contrastive", "nt_xent"] = setting(
        "supervised_contrastive",
        "Loss",
        "Triplet margin: a sample nearer to one of its class than to others (TripletMarginLoss). Contrastive: pairs together or "
        "apart by the margin. Supervised contrastive: softmax over similarities (SupCon). NT-Xent: two views of each image, "
        "without classes (SimCLR). Each batch is compared within itself, also in accumulation.",
        also="TripletMarginLoss CosineEmbeddingLoss InfoNCE SupConLoss SimCLR Siamese",
        labels={"nt_xent": "NT-Xent"},
    )
    embedding_size: int = setting(
        64,
        "Embedding size",
        "Numbers of each embedding: the outputs of the network.",
        also="dimensions",
        ge=2,
        le=65_536,
    )
    temperature: float = setting(
        0.1,
        "Temperature",
        "Divides the cosine similarities; less looks at the nearest samples more. 0.07 to 0.5 are common.",
        gt=0.0,
        le=100.0,
    )
    margin: float = setting(
        0.5,
        "Margin",
        "Triplet margin: how much farther another class has to be. Contrastive: the distance up to which other classes are "
        "pushed away. Embeddings of unit length are at most 2 apart.",
        gt=0.0,
        le=1e6,
    )
    mining: Literal["batch_hard", "semi_hard", "all"] = setting(
        "semi_hard",
        "Triplet mining",
        "Batch hard: farthest positive with nearest negative. Semi-hard: each positive with the nearest negative beyond it "
        "(FaceNet). All: every triplet of the batch, the mean for each sample.",
        also="hard negatives BatchHard",
    )
    normalize: bool = setting(
        True,
        "L2-normalize embeddings",
        "Divide each by its length, in the loss, the metrics and exported models: then Euclidean distance and cosine "
        "similarity order alike.",
        also="normalise unit length",
    )
    views: int = setting(
        1,
        "Views of each image",
        "2: each training image stands in its batch twice, augmented in two ways, which takes twice the memory. NT-Xent always "
        "has 2.",
        also="two views augmentations",
        ge=1,
        le=2,
    )
    top: int = advanced(
        5,
        "Recall@k",
        "How many nearest neighbors Recall@k looks at (k). It is measured over all validation samples, each among all others, "
        "which keeps their embeddings in memory.",
        also="nearest neighbors places",
        ge=1,
        le=100_000,
    )
    ranking_metrics: bool = advanced(
        False,
        "Mean average precision",
        "Measure it, too, over each sample's list of all others. Slow for tens of thousands.",
    )

    @property
    def metrics(self) -> tuple[str, ...]:
        return (*self.reports, *(("mean_average_precision",) if self.ranking_metrics else ()))

    @property
    def has_unit_length(self) -> bool:
        """Whether embeddings count by their direction alone."""
        return self.normalize or self.loss in ("supervised_contrastive", "nt_xent")

    @property
    def view_count(self) -> int:
        """How often each training sample stands in its batch."""
        return 2 if self.loss == "nt_xent" else self.views
