"""Which settings do nothing as the others stand, for whoever is about to turn them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from training.config.run import RunConfig
from training.config.sections.data.dataset_section import DatasetSection, PartsSection
from training.config.sections.data.image_section import ImageSection
from training.config.sections.data.tables import TableSection
from training.config.sections.data.text import TextDataset
from training.config.sections.data.toys import ToySection
from training.config.sections.embedding import Embedding
from training.config.sections.objective import LanguageModel, Objective
from training.config.sections.optimizer import Muon, RMSprop, Sgd
from training.config.sections.schedule import ScheduleSection
from training.core.durations import read_duration

_MOVING = ("crop_padding", "rotation", "translate", "affine_scale", "shear", "perspective")
"""Augmentations that bring in something from outside of the image; crops and flips do not."""


@dataclass(frozen=True)
class Inactive:
    """``why`` a setting has no effect, a sentence that begins with these words. ``fix`` are settings that let it have one and
    leave the run as it is."""

    why: str
    fix: Mapping[str, JsonValue] = field(default_factory=dict)

    def clause(self, path: str) -> str:
        """The same where the setting cannot be seen: ``optimizer.lr has no effect while schedule.max_lr is set``."""
        return f"{path} has {self.why[:1].lower()}{self.why[1:].rstrip('.')}"


def find_inactive(config: RunConfig, given: Collection[str] = ()) -> dict[str, Inactive]:
    """Why each of them has no effect, by dotted setting. ``given`` are the parts that the data came with, as far as somebody
    looked."""
    optimizer, loader = config.optimizer, config.loader
    found = {path: Inactive(why) for path, why in _of_the_split(config.dataset, given).items()}
    if isinstance(config.dataset, TextDataset) and config.dataset.vocabulary != "bpe":
        found["dataset.vocabulary_size"] = Inactive(
            f"No effect while dataset.vocabulary is {config.dataset.vocabulary}."
        )
    found |= (
        _of_images(config.dataset)
        | _of_the_schedule(config)
        | _of_embeddings(config.objective)
        | _of_the_texts(config.objective)
        | _of_the_targets(config.dataset)
        | _of_the_columns(config.dataset)
        | _of_the_loop(config)
    )
    if optimizer.freeze != "stages":
        found["optimizer.freeze_stages"] = Inactive(f"No effect while optimizer.freeze is {optimizer.freeze}.")
    if optimizer.weight_decay == 0.0:
        for name in ("decay_bias_and_norm", "decoupled_weight_decay"):
            if hasattr(optimizer, name):
                found[f"optimizer.{name}"] = Inactive("No effect while optimizer.weight_decay is 0.")
    if loader.mode != "auto":
        found["loader.memory_limit_mb"] = Inactive(f"No effect while loader.mode is {loader.mode}.")
    if loader.mode == "resident":
        found["loader.prefetch_factor"] = Inactive("No effect while loader.mode is resident: nothing is read ahead.")
    if loader.cache == "off":
        for name in ("cache_folder", "cache_limit_gb"):
            found[f"loader.{name}"] = Inactive("No effect while loader.cache is off.")
    return found


def list_inactive_on_purpose(config: RunConfig, given: Collection[str] = ()) -> Iterator[str]:
    """Clauses about those of them that whoever wrote ``config`` set. What a form sends or saves names every setting that has a
    value: of those only what differs from its default counts."""
    for path, inactive in find_inactive(config, given).items():
        section, _, name = path.partition(".")
        values = getattr(config, section)
        written = values.model_fields_set
        fields = type(values).model_fields
        of_a_form = all(each in written or getattr(values, each) is None for each in fields)
        if name in written and not (of_a_form and getattr(values, name) == fields[name].default):
            yield inactive.clause(path)


def _of_images(dataset: DatasetSection) -> dict[str, Inactive]:
    if not isinstance(dataset, ImageSection):
        return {}
    found = {}
    if dataset.auto_augment != "rand_augment":
        for name in ("rand_augment_num_ops", "rand_augment_magnitude"):
            found[f"dataset.{name}"] = Inactive(f"No effect while dataset.auto_augment is {dataset.auto_augment}.")
    if dataset.resized_crop_scale == 1.0:
        found["dataset.resized_crop_ratio"] = Inactive("No effect while dataset.resized_crop_scale is 1.")
    if dataset.auto_augment == "none" and not any(getattr(dataset, name) for name in _MOVING):
        found["dataset.padding_mode"] = Inactive("No effect while no image is moved or rotated.")
    if not dataset.blur:
        found["dataset.blur_sigma"] = Inactive("No effect while dataset.blur is 0.")
    return found


def _of_the_targets(dataset: DatasetSection) -> dict[str, Inactive]:
    task, found = getattr(dataset, "task", "tasks"), {}
    if task != "tasks" and hasattr(dataset, "numeric_targets"):
        found["dataset.numeric_targets"] = Inactive(f"No effect while dataset.task is {task}.")
    if isinstance(getattr(dataset, "classes", None), tuple) and "class" not in dataset.possible_targets:
        found["dataset.classes"] = Inactive("No effect: the samples are not of one class each.")
    return found


def _of_the_columns(dataset: DatasetSection) -> dict[str, Inactive]:
    if not isinstance(dataset, TableSection):
        return {}
    found = {}
    if dataset.high_cardinality != "hash":
        found["dataset.hash_buckets"] = Inactive(
            f"No effect while dataset.high_cardinality is {dataset.high_cardinality}."
        )
    if dataset.features:
        for name in ("uninformative", "keep_columns"):
            found[f"dataset.{name}"] = Inactive("No effect while dataset.features names the columns.")
    return found


def _of_embeddings(objective: Objective) -> dict[str, Inactive]:
    if not isinstance(objective, Embedding):
        return {}
    by_angle = objective.loss in ("supervised_contrastive", "nt_xent")
    idle = {
        "temperature": not by_angle,
        "margin": by_angle,
        "mining": objective.loss != "triplet_margin",
        "normalize": by_angle,
        "views": objective.loss == "nt_xent",
    }
    inactive = Inactive(f"No effect while objective.loss is {objective.loss}.")
    return {f"objective.{name}": inactive for name, is_idle in idle.items() if is_idle}


def _of_the_texts(objective: Objective) -> dict[str, Inactive]:
    if not isinstance(objective, LanguageModel) or objective.sample_tokens:
        return {}
    return {"objective.sample_prompt": Inactive("No effect while objective.sample_tokens is 0.")}


def _of_the_loop(config: RunConfig) -> dict[str, Inactive]:
    loop, dataset, found = config.loop, config.dataset, {}
    if loop.early_stopping_patience is None:
        found["loop.early_stopping_min_delta"] = Inactive("No effect without early stopping.")
    if dataset.layout != "vector" or (isinstance(dataset, ToySection) and dataset.numbers != 2):
        found["loop.decision_boundary"] = Inactive("No effect: the data are no points in the plane.")
    if loop.after_skips == "stop":
        found["loop.roll_back_factor"] = Inactive("No effect while loop.after_skips is stop.")
    return found


def _of_the_schedule(config: RunConfig) -> dict[str, Inactive]:
    schedule = config.schedule
    if isinstance(schedule, ScheduleSection):
        inactive = Inactive("No effect while schedule.warmup is 0.")
        return {} if read_duration(schedule.warmup)[0] else {"schedule.warmup_start_factor": inactive}
    found = {}
    if schedule.max_lr is not None:
        fix = {"schedule.max_lr": None, "optimizer.lr": schedule.max_lr}
        found["optimizer.lr"] = Inactive("No effect while schedule.max_lr is set.", fix)
    if not schedule.cycle_momentum:
        for name in ("base_momentum", "max_momentum"):
            found[f"schedule.{name}"] = Inactive("No effect while schedule.cycle_momentum is off.")
    elif isinstance(config.optimizer, Sgd | RMSprop | Muon):
        course = f"it goes from {schedule.max_momentum:g} down to {schedule.base_momentum:g} and back"
        found["optimizer.momentum"] = Inactive(f"No effect while schedule.cycle_momentum is on: {course}.")
    return found


def _of_the_split(dataset: DatasetSection, given: Collection[str]) -> dict[str, str]:
    if getattr(dataset, "time_column", None):
        return {"dataset.split_seed": "No effect while dataset.time_column is set: the newest samples are held out."}
    why = ""
    if getattr(dataset, "validation_path", None) and getattr(dataset, "validation", "auto") == "auto":
        why = "No effect: the validation data is given."
    elif not isinstance(dataset, PartsSection):
        return {}  # whatever parts it has were made by these very settings
    elif dataset.validation == "test":
        why = "No effect: the test part is validated on."
    elif dataset.validation == "auto" and "validation" in given:
        by_column = getattr(dataset, "split_column", None)
        why = f"No effect: {'a column says what to validate on' if by_column else 'the data has a validation part of its own'}."
    names = ["validation_fraction"] if dataset.test_fraction else ["validation_fraction", "split_seed"]
    return {f"dataset.{name}": why for name in names if name in type(dataset).model_fields} if why else {}
