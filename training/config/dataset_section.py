"""What all kinds of data can be told."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

from training.config.fields import Section, setting
from training.facts import Layout, Target


class DatasetSection(Section):
    """What every kind of dataset can be told, and what its samples are as far as settings tell."""

    layout: ClassVar[Layout]
    called: ClassVar[str]
    """What it gives, in a word for people: "points"."""
    suits: ClassVar[tuple[str, ...]] = ()
    """Kinds of networks to think of first, best first."""

    @property
    def target(self) -> Target | None:
        """What there is to learn; None when only the data itself tells."""
        return "class"

    @property
    def possible_targets(self) -> tuple[Target, ...]:
        """What there may be to learn: what the task may be set to, where it is left to the data."""
        if self.target is not None:
            return (self.target,)
        choices = get_args(type(self).model_fields["task"].annotation)
        return tuple(choice for choice in choices if choice != "auto")

    validation_fraction: float = setting(
        0.2,
        title="Validation fraction",
        help="Share of the training samples held back to judge the model; split by class, the same for the same seed.",
        gt=0.0,
        lt=1.0,
    )
    test_fraction: float = setting(
        0.0,
        title="Test fraction",
        help="Share of the samples kept away from training and validation: the best weights are measured on them once, at the "
        "end. For data without a test part of its own.",
        placeholder="none",
        advanced=True,
        ge=0.0,
        lt=1.0,
    )
    split_seed: int = setting(
        0,
        title="Split seed",
        help="Another number holds back other samples. Kept apart from the run's seed so that runs stay comparable.",
        advanced=True,
        ge=0,
        le=2**31 - 1,
    )


class PartsSection(DatasetSection):
    """Datasets that may come with their own validation or test part."""

    validation: Literal["auto", "split", "test"] = setting(
        "auto",
        title="Validate on",
        help="auto: the validation part that comes with the data, else held-back training samples. split: always "
        "held-back training samples. test: the test part, so no sample is held back.",
        advanced=True,
    )
    duplicates: Literal["keep", "drop_from_validation"] = setting(
        "keep",
        title="Duplicates",
        help="Samples that are held back and trained on, too, make the metrics look too good; Check counts them. "
        "drop_from_validation leaves them out of the validation and test parts.",
        advanced=True,
    )
