"""``[loop]``: how long, how large, and the safety net."""

from __future__ import annotations

from typing import Literal

from training.config.fields import Count, Fraction, Section, ShareBelowOne, advanced, setting


class Loop(Section):
    """How long, how large, and the safety net."""

    epochs: int = setting(5, "Epochs", "How often the whole training set is seen.", ge=1, le=10**6)
    max_steps: Count | None = advanced(
        None,
        "Max steps",
        "End after this many steps even if epochs remain; the LR scheduler is laid out over it.",
        also="step limit",
        unit="steps",
        placeholder="none",
    )
    batch_size: int = setting(
        64, "Batch size", "Samples per forward and backward pass.", unit="samples", ge=1, le=10**6, log_scale=True
    )
    accumulation: int = setting(
        1,
        "Gradient accumulation steps",
        "Batches whose gradients are added up before a step (accumulate_grad_batches): a larger batch in the same memory.",
        unit="batches",
        ge=1,
        le=10**5,
    )
    slots: int = advanced(
        1,
        "Batch slots",
        "Cut each batch into so many parts of nearly equal size, each with dropout and batch normalization of its own (virtual ranks). "
        "As many processes can share the steps, or any number that divides it, and each sees the same samples as one process would.",
        also="data parallel, DDP, number of processes, multi-GPU, ghost batch norm",
        unit="slots",
        ge=1,
        le=1024,
    )
    clip_norm: float | None = setting(
        1.0,
        "Gradient clipping (norm)",
        "Scale the gradient down when its norm exceeds this (clip_grad_norm_: max_norm). 1.0 is usual; 0.5 for very deep networks or "
        "an unstable start; 5.0 where training is stable and only rare norms are large. If almost no step is clipped, the limit does "
        "nothing; if almost all are, it acts as a limit of the learning rate: lower that instead. 0 or empty: never.",
        also="clip norm",
        placeholder="never",
        ge=0.0,
        log_scale=True,
    )
    clip_value: float | None = advanced(
        None,
        "Gradient clipping (value)",
        "Limit each gradient element to this size (clip_grad_value_: clip_value); coarser than clipping the norm.",
        also="clip value",
        placeholder="never",
        gt=0.0,
        log_scale=True,
    )
    validate_every_steps: Count | None = advanced(
        None,
        "Validate every N steps",
        "Besides the end of each epoch (val_check_interval).",
        unit="steps",
        placeholder="each epoch",
    )
    validation_batch_size: int | None = advanced(
        None,
        "Validation batch size",
        "Samples per validation batch. Empty: twice the batch size, or more where that is little work.",
        unit="samples",
        placeholder="automatic",
        ge=1,
        le=10**6,
    )
    decision_boundary: Literal["auto", "every_validation", "off"] = advanced(
        "auto",
        "Decision boundary",
        "Of data with two inputs and classes: after a validation, keep which class the network predicts all over the plane. Auto "
        "leaves some out where that would take more than a second and 2 % of the run's time.",
        also="decision regions animation GIF",
        affects_result=False,
    )
    keep_predictions: bool = advanced(
        False,
        "Keep predictions",
        "Keep what the network answers to each validation sample, at each validation: the Evaluate page then walks through the epochs. "
        "How much that takes is said at the first; masks and long texts take the most.",
        also="per-sample predictions every epoch",
        affects_result=False,
    )
    ema_decay: ShareBelowOne | None = advanced(
        None,
        "EMA decay",
        "Keep a moving average of the weights (get_ema_multi_avg_fn: decay), validate and export that; 0.999 is usual. Empty: off.",
        placeholder="off",
    )
    swa_start: ShareBelowOne | None = advanced(
        None,
        "SWA start",
        "Stochastic weight averaging: from this share of the run on, take the equal average of the weights (AveragedModel), "
        "validate and export that; 0.75 is usual. Empty: off.",
        placeholder="off",
    )
    swa_every_steps: Count | None = advanced(
        None, "SWA every N steps", "Steps between weights that are averaged.", unit="steps", placeholder="each epoch"
    )
    swa_lr: float | None = advanced(
        None,
        "SWA LR",
        "The learning rate while weights are averaged, the same throughout (SWALR: swa_lr); half of the highest is a good start. "
        "Empty: what the LR scheduler says.",
        also="SWA rate",
        placeholder="the LR scheduler's",
        gt=0.0,
        le=100.0,
        log_scale=True,
    )
    early_stopping_patience: Count | None = setting(
        None,
        "Early stopping patience",
        "End after this many without a better metric (patience).",
        unit="validations",
        placeholder="off",
    )
    early_stopping_min_delta: float = advanced(
        0.0,
        "Early stopping min delta",
        "Changes of the metric up to this are no gain (min_delta).",
        also="smallest gain",
        ge=0.0,
        log_scale=True,
    )
    stopping_threshold: float | None = setting(
        None,
        "Stopping threshold",
        "End as soon as the monitored metric is this good (EarlyStopping: stopping_threshold): 0.98 for an accuracy of 98 %, "
        "0.1 for a loss of 0.1. The checkpoint that reached it is the best.",
        also="target metric stop at accuracy goal",
        placeholder="off",
    )
    max_skipped_steps: Count = advanced(
        20,
        "Max consecutive non-finite steps",
        "After this many steps in a row with a NaN or Inf gradient, none of which changes the weights, the run stops or rolls "
        "back, as the next setting says.",
        also="skips in a row",
        unit="steps",
        affects_result=False,
    )
    after_skips: Literal["stop", "roll_back"] = advanced(
        "stop",
        "On repeated NaN/Inf gradients",
        "Stop ends the run with an explanation. Roll back goes back to the newest checkpoint before them and on with a lower "
        "learning rate; the fourth time it ends the run.",
        also="after too many skips",
    )
    roll_back_factor: Fraction = advanced(
        0.5, "LR factor after rollback", "Multiplies the LR schedule at each rollback.", also="rate after a roll back"
    )
    layer_norms: bool = advanced(
        True,
        "Norms of each layer",
        "Record the norms of gradient, weights and update of each layer, and how many of its units are dead or saturated, for the heat "
        "map and the diagnosis. Not of steps that are compiled or recorded as a whole; of a compiled network no units.",
        also="weight norm, update-to-weight ratio, dead units",
        affects_result=False,
    )
    layer_norms_every_steps: Count | None = advanced(
        None,
        "Norms every N steps",
        "Steps between two records of the layers. Empty: so many that they take about a hundredth of a run's time at most.",
        unit="steps",
        placeholder="automatic",
        affects_result=False,
    )
    on_out_of_memory: Literal["stop", "smaller_batches"] = advanced(
        "stop",
        "On out of memory (OOM)",
        "Stop ends the run and proposes what fits. Reduce batch size goes on by itself, with the same samples in each step; batch "
        "normalization and dropout then see smaller batches. Of a GPU or the CPU, as far as torch reports it.",
        also="CUDA OOM",
        labels={"smaller_batches": "Reduce batch size"},
        affects_result=False,
    )

    def total_steps(self, steps_per_epoch: int) -> int:
        """Optimizer steps of a run whose epochs have ``steps_per_epoch``."""
        steps = self.epochs * steps_per_epoch
        return steps if self.max_steps is None else min(steps, self.max_steps)
