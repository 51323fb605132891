"""What all kinds of data can be told."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal, get_args

from training.config.fields import Fraction, Section, SeedNumber, ShareBelowOne, advanced, setting
from training.facts import Layout, Target

ColorMode = Annotated[
    Literal["rgb", "grey"],
    advanced(title="Color mode", help="RGB gives the model three channels, Grayscale one.", also="colour grey gray"),
]


class DatasetSection(Section):
    """What every kind of dataset can be told, and what its samples are as far as settings tell."""

    layout: ClassVar[Layout]
    called: ClassVar[str]
    """What it gives, in a word for people: "points"."""
    suits: ClassVar[tuple[str, ...]] = ()
    """Kinds of networks to think of first, best first."""
    teaches: ClassVar[Target] = "class"
    """What there is to learn, where no setting ``task`` says that."""
    no_exclude: ClassVar[str] = (
        "each sample is made by its number, with the label that it is made for, so none is wrong"
    )
    """Why there is no exclude list, a clause; "" where there is one."""

    @property
    def target(self) -> Target | None:
        """What there is to learn; None when only the data itself tells."""
        task: Target | Literal["auto"] = getattr(self, "task", self.teaches)
        return None if task == "auto" else task

    @property
    def possible_targets(self) -> tuple[Target, ...]:
        """What there may be to learn: what the task may be set to, where it is left to the data."""
        if self.target is not None:
            return (self.target,)
        choices = get_args(type(self).model_fields["task"].annotation)
        return tuple(choice for choice in choices if choice != "auto")

    validation_fraction: Fraction = setting(
        0.2,
        "Validation split",
        "Share of the training samples held out for validation; stratified by class, the same for the same seed.",
        also="fraction held back",
    )
    test_fraction: ShareBelowOne = advanced(
        0.0,
        "Test split",
        "Share of the samples kept out of training and validation: the best weights are measured on them once, at the end. "
        "For data without a test set of its own.",
        also="test fraction",
        placeholder="none",
    )
    split_seed: SeedNumber = advanced(
        0, "Split seed", "Another number holds out other samples. Not the run's seed, so that runs stay comparable."
    )


class PartsSection(DatasetSection):
    """Datasets that may come with their own validation or test part, and with samples that are better left out."""

    no_exclude = ""
    validation: Literal["auto", "split", "test"] = advanced(
        "auto",
        "Validate on",
        "Auto: the validation set that comes with the data, else held-out training samples. Held-out split: always held-out "
        "training samples. Test set: the test set, so no sample is held out.",
        labels={"split": "Held-out split", "test": "Test set"},
    )
    duplicates: Literal["keep", "drop_from_validation"] = advanced(
        "keep",
        "Train/val duplicates",
        "Train/val leakage: samples that are trained on and held out, too, make the metrics look too good; Check counts them. "
        "Remove takes them out of the validation and test sets.",
        also="leakage duplicates",
        labels={"drop_from_validation": "Remove"},
    )
    exclude: str | None = advanced(
        None,
        "Exclude list",
        "A text file of samples to leave out of all parts, a digest of the content a line; the others stay where they are, and "
        "no file is touched. A run keeps a copy of the list.",
        also="leave out suspicious labels blacklist",
        path="file",
        placeholder="none",
    )
