"""The seven steps, in order. What each is told is its preset; here is what it is for."""

from __future__ import annotations

from dataclasses import dataclass

ROUGH_CLIPPED = 0.05
"""Share of the steps in steady state that may be clipped; more means that the rate is too high, not the limit too low."""

CRASH_EPOCH = 3
"""The epoch in which the last run is killed."""


@dataclass(frozen=True)
class Step:
    """One step. ``change`` is what it has that the one before has not, ``look`` what is to be seen in its figures."""

    key: str
    preset: str
    title: str
    change: str
    look: str


STEPS: tuple[Step, ...] = (
    Step(
        "baseline",
        "lab-1-baseline",
        "Baseline",
        "The four lines every loop has, with AdamW at a fixed rate of 0.001.",
        "The accuracy that a plain loop reaches, and what an epoch costs: all later steps are measured by these two.",
    ),
    Step(
        "one_cycle",
        "lab-2-one-cycle",
        "OneCycleLR",
        "The learning rate rises to 0.003 and falls to nearly nothing.",
        "The rate's curve is a hill. At its top the loss is rough, on the way down it settles below the baseline's.",
    ),
    Step(
        "clip",
        "lab-3-clip",
        "Clipping",
        "Gradients longer than 1 are shortened to 1.",
        "Norms are long at the start and short once the network knows its way. The limit is there for the rare step.",
    ),
    Step(
        "accumulation",
        "lab-4-accumulation",
        "Accumulation",
        "Batches of 32, four of them to a step, instead of one batch of 128.",
        "The same curve as before in a quarter of the memory for activations: only rounding tells the two apart.",
    ),
    Step(
        "amp",
        "lab-5-amp",
        "Mixed precision",
        "The forward pass computes in 16 bits where that is safe.",
        "The curve stays where it was. Whether it is faster is decided by the device: it must have the instructions.",
    ),
    Step(
        "checkpoints",
        "lab-6-checkpoints",
        "Checkpoints",
        "Everything is saved every 100 steps and whenever validation is better than ever.",
        "Saving happens behind the loop's back: the same curve to the bit, at nearly the same speed.",
    ),
    Step(
        "crash",
        "lab-7-crash",
        "Crash and resume",
        f"Nothing, but the process is killed in epoch {CRASH_EPOCH} and started again.",
        "One line without a seam: the resumed run repeats the steps since its checkpoint and cannot be told from a run "
        "that nobody killed.",
    ),
)
