"""Which causes a finding names: by its code, and of a symptom by the change that it proposes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from tests.doctor.zoo.kinds import CAUSES, KINDS
from training.config import RunConfig
from training.config.diff import flatten

NAMED: Mapping[str, tuple[str, ...]] = {
    # before
    "model.ends_in_softmax": ("softmax before a loss on logits",),
    "model.ends_in_sigmoid": ("sigmoid before a loss on logits", "bounded output"),
    "model.ends_in_relu": ("ReLU at the end of a regression", "ReLU before the logits"),
    "model.range": ("bounded output",),
    "model.linear": ("no activation between layers",),
    "eval.random": ("randomness in evaluation",),
    "model.mixes_samples": ("samples mixed inside a batch",),
    "model.sees_future": ("language model sees the future",),
    "model.not_trained": ("parameters without gradient", "frozen layers"),
    "model.frozen_at_random": ("frozen layers",),
    "init.symmetric": ("symmetric initialization",),
    "model.saturating": ("saturating activation",),
    "model.narrow": ("too few neurons", "missing layers"),
    "model.too_deep": ("superfluous layers",),
    "init.dead": ("dead initialization",),
    "init.scale": ("initialization too large", "initialization too small"),
    "loss.start": ("initialization too large", "unscaled targets", "wrong loss"),
    "loss.sum": ("reduction of the loss",),
    "loss.nonfinite": ("module produces non-finite values", "overflow"),
    "loss.sign": ("sign of the loss", "wrong loss"),
    "loss.blind": ("wrong loss",),
    "loss.median": ("wrong loss",),
    "loss.few_pairs": ("batch too small",),
    "data.scale": ("unscaled inputs", "unscaled targets", "constant columns"),
    "data.nonfinite": ("non-finite values",),
    "data.label_range": ("labels out of range",),
    "data.nameless_class": ("labels out of range",),
    "data.imbalance": ("class imbalance",),
    "data.conflicting_labels": ("conflicting labels",),
    "data.outliers": ("outliers",),
    "data.images_shrunk": ("images too small",),
    "data.images_too_small": ("images too small",),
    "augment.changes_label": ("augmentation changes the label",),
    "label.shifted": ("shifted labels", "wrong labels"),
    "loss.class_weights": ("class weights",),
    "table.constant": ("constant columns",),
    "data.parts_differ": ("parts preprocessed differently",),
    "split.duplicates": ("duplicates across parts",),
    "split.near_duplicates": ("duplicates across parts",),
    "split.time_or_group": ("groups across parts", "time across parts"),
    "table.target_leak": ("target leak",),
    "table.identifier": ("identifier as feature",),
    "label.noisy": ("noisy labels", "wrong labels"),
    "label.mixed_up": ("wrong labels", "noisy labels"),
    "label.renamed": ("wrong labels", "noisy labels", "conflicting labels"),
    "label.suspect": ("noisy labels", "wrong labels", "shifted labels"),
    "validation.none": ("no validation", "validation too small"),
    "validation.tiny": ("validation too small", "no validation"),
    "validation.absent_class": ("validation too small",),
    "validation.few_of_class": ("validation too small",),
    "validation.unmeasurable": ("validation too small",),
    "norm.tiny_batch": ("batch too small",),
    "norm.accumulation": ("batch too small",),
    "batch.too_large": ("batch too large",),
    "batch.too_small": ("batch too small",),
    "run.too_short": ("too few epochs",),
    "stopping.in_noise": ("stopped too early",),
    "optimizer.unusual": ("optimizer settings", "unsuitable optimizer"),
    "regularise.too_much": ("regularization too strong", "redundant regularization"),
    "loader.slow": ("slow loader",),
    # during
    "nonfinite": ("module produces non-finite values", "overflow", "non-finite values"),
    "fit.no_skill": ("wrong labels", "shifted labels"),
    "fit.over": ("too many epochs",),
    "fit.biased": ("wrong loss", "outliers"),
    "fit.ignores_input": ("constant columns", "wrong labels", "shifted labels"),
    "run.ends_too_early": ("too few epochs", "stopped too early"),
    "run.ends_too_late": ("too many epochs",),
    "classes.collapsed": ("class imbalance",),
    "update.too_big": ("learning rate too high",),
    "update.too_small": ("learning rate too low",),
    "grad.vanishing": ("saturating activation",),
    "grad.clipped_always": ("optimizer settings",),
    "weight.unchanged": ("parameters without gradient", "frozen layers"),
    "units.dead": ("dead initialization",),
    "units.saturated": ("saturating activation",),
    "machine.waits": ("slow loader",),
    "machine.fp16_scale": ("overflow",),
}
"""Of a code that is not here it is what its change says, and nothing where it proposes none: a symptom is no cause."""

HALVES: Mapping[str, tuple[str, str]] = {
    "optimizer.lr": ("learning rate too high", "learning rate too low"),
    "schedule.max_lr": ("schedule too high", "learning rate too low"),
    "loop.epochs": ("too many epochs", "too few epochs"),
    "loop.max_steps": ("too many epochs", "too few epochs"),
    "loop.batch_size": ("batch too large", "batch too small"),
    "loop.accumulation": ("batch too large", "batch too small"),
    "loop.early_stopping_patience": ("too many epochs", "stopped too early"),
    "loop.clip_norm": ("learning rate too high", "optimizer settings"),
    "optimizer.weight_decay": ("regularization too strong", ""),
    "model.dropout": ("regularization too strong", ""),
    "objective.label_smoothing": ("regularization too strong", ""),
    "dataset.validation_fraction": ("", "validation too small"),
    "dataset.image_size": ("", "images too small"),
}
"""What a change to a lower value says was wrong, and one to a higher value."""

CHANGED: Mapping[str, tuple[str, ...]] = {
    "objective.threshold": ("wrong loss", "class weights"),
    "objective.temperature": ("wrong loss",),
    "objective.margin": ("wrong loss",),
    "objective.smooth": ("wrong loss",),
    "objective.weights": ("class weights", "wrong loss"),
    "objective.embedding_size": ("too few neurons",),
    "model.width": ("too few neurons",),
    "loop.ema_decay": ("optimizer settings",),
    "loop.swa_lr": ("learning rate too high", "optimizer settings"),
    "loop.clip_value": ("optimizer settings",),
    "optimizer.head_lr_factor": ("learning rate too high", "learning rate too low", "optimizer settings"),
    "optimizer.initial_accumulator_value": ("optimizer settings",),
    "optimizer.kind": ("unsuitable optimizer",),
    "optimizer.freeze": ("frozen layers",),
    "optimizer.unfreeze_epoch": ("frozen layers",),
    "optimizer.eps": ("optimizer settings",),
    "optimizer.betas": ("optimizer settings",),
    "optimizer.momentum": ("optimizer settings",),
    "objective.loss": ("outliers", "wrong loss"),
    "objective.kind": ("wrong loss",),
    "objective.standardise": ("unscaled targets",),
    "objective.class_weights": ("class weights",),
    "objective.pos_weight": ("class weights",),
    "objective.balanced": ("class imbalance",),
    "loader.sampling": ("class imbalance",),
    "dataset.normalize": ("unscaled inputs",),
    "dataset.flip": ("augmentation changes the label",),
    "dataset.vertical_flip": ("augmentation changes the label",),
    "dataset.rotation": ("augmentation changes the label",),
    "dataset.resized_crop_scale": ("augmentation changes the label",),
    "dataset.group_column": ("groups across parts",),
    "dataset.time_column": ("time across parts",),
    "dataset.duplicates": ("duplicates across parts",),
    "dataset.random_samples": ("slow loader",),
    "loader.workers": ("slow loader",),
    "loader.mode": ("slow loader",),
    "loader.cache": ("slow loader",),
    "model.activation": ("saturating activation",),
    "model.hidden": ("too few neurons", "missing layers", "superfluous layers"),
}
"""What any change of a setting says."""

SIDED = ("lr.unusual", "batch.too_large", "batch.too_small")
"""Codes of which the change alone says what was wrong."""
LENGTHS = ("schedule ends early", "schedule ends late", "schedule too high", "warm-up too long")


def causes_of(finding: Mapping[str, Any], config: RunConfig) -> set[str]:
    """Those of ``kinds.CAUSES`` that ``finding``, a record of ``--json``, names of a run with ``config``."""
    code = str(finding["code"])
    if code in ("schedule.length", "schedule.lowered"):
        return set(LENGTHS)
    if code == "loss.start" and finding["place"] == "inputs":
        return {"unscaled inputs"}
    causes = set() if code in SIDED and finding["fix"] else set(NAMED.get(code, ()))
    if code not in NAMED or code in SIDED:
        causes |= _of_changes(finding["fix"], flatten(config))
    if code.startswith(("grad.clipped", "nonfinite", "units.dead", "units.saturated")):
        causes |= _of_changes(finding["fix"], flatten(config))
    return causes & CAUSES.keys()


def _of_changes(fix: Mapping[str, Any], before: Mapping[str, Any]) -> set[str]:
    causes: set[str] = set()
    for name, value in fix.items():
        causes.update(CHANGED.get(name, ()))
        if name.startswith("schedule."):
            causes.update(LENGTHS)
        if name in HALVES:
            causes.add(HALVES[name][_is_higher(value, before.get(name))])
    return causes - {""}


def _is_higher(value: Any, before: Any) -> bool:
    """No limit is higher than any; of what has no order, the new one is taken for the higher."""
    if not isinstance(before, int | float):
        return isinstance(value, int | float) and value is not None and before is not None
    return value is None or (isinstance(value, int | float) and value > before)


def kinds_of(causes: Collection[str]) -> set[str]:
    """The kinds of these causes, of which there are ``KINDS``."""
    kinds = {CAUSES[cause] for cause in causes}
    assert kinds <= set(KINDS)
    return kinds
