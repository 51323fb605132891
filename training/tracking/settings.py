"""Which trackers a person uses, and where they are: a file of the person's own, which no run and no result depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, field_validator

from training.errors import InputError
from training.runs.folder import RunFolder
from training.sidecars.personal_file import edit_settings, load_settings, parse_settings, personal_file
from training.toml_text import Toml
from training.typed_paths import expand_known_home, parse_path

Name = Literal["tensorboard", "mlflow", "wandb"]
NAMES: tuple[Name, ...] = ("tensorboard", "mlflow", "wandb")
KEYS: Mapping[Name, Sequence[Sequence[str]]] = {
    "tensorboard": (),
    "mlflow": (("MLFLOW_TRACKING_TOKEN",), ("MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD")),
    "wandb": (("WANDB_API_KEY",),),
}
"""The variables that each has its key in; MLflow's server wants the token, or the other two, or nothing."""
VARIABLES: Mapping[Name, Sequence[str]] = {name: tuple(chain.from_iterable(ways)) for name, ways in KEYS.items()}
TITLES: dict[Name, str] = {"tensorboard": "TensorBoard", "mlflow": "MLflow", "wandb": "Weights & Biases"}


class _Tracker(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    on: bool = True
    """Whether each new run is sent there by itself."""


class TensorBoard(_Tracker):
    """``folder``: where each run gets a folder of its own; "" for ``tracking/tensorboard`` in the run folder."""

    folder: str = ""

    @field_validator("folder")
    @classmethod
    def _check_folder(cls, folder: str) -> str:
        try:
            parse_path(folder)
        except InputError as error:
            raise ValueError("is in a home folder that this machine does not have") from error
        return folder


class MLflow(_Tracker):
    """``url`` of the server."""

    url: str = "http://127.0.0.1:5000"
    experiment: str = "Trainwright"

    @field_validator("url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        parts = urlsplit(url)
        if parts.username is not None:  # which may be a token
            raise ValueError(
                "holds a user or a key; put them into the environment as MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD, or "
                "MLFLOW_TRACKING_TOKEN, or into the keyring"
            )
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("is not the address of a server; write http://HOST:PORT or https://HOST")
        return url


class WandB(_Tracker):
    """``mode`` "offline" writes files that ``wandb sync`` sends."""

    project: str = "trainwright"
    entity: str = ""
    mode: Literal["online", "offline"] = "online"


class TrackerSettings(BaseModel):
    """A tracker that has no table is not used by itself; asked for by name it has the defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    tensorboard: TensorBoard = TensorBoard(on=False)
    mlflow: MLflow = MLflow(on=False)
    wandb: WandB = WandB(on=False)

    def choose(self, names: Sequence[Name] = ()) -> tuple[Name, ...]:
        """Those in use by themselves, and ``names``."""
        return tuple(name for name in NAMES if name in names or getattr(self, name).on)


def place_of(tracker: TensorBoard | MLflow | WandB, folder: RunFolder) -> str:
    """Where ``tracker`` has the run in ``folder``: a folder, a URL, or a project. A folder inside the run's has the same name
    wherever the run is moved to."""
    if isinstance(tracker, MLflow):
        return tracker.url
    if isinstance(tracker, TensorBoard):
        own = tracker.folder and str(expand_known_home(tracker.folder) / folder.id)
        return own or f"{folder.tracking.name}/tensorboard"
    if tracker.mode == "offline":
        return OFFLINE_PLACE
    return f"wandb.ai, project {'/'.join(filter(None, (tracker.entity, tracker.project)))}"


OFFLINE_PLACE = "tracking/wandb"
"""Where Weights & Biases' offline files lie in a run's folder."""


def settings_file() -> Path:
    """Where a person says it."""
    return personal_file("trackers.toml")


def load_tracker_settings() -> TrackerSettings:
    """Raises InputError naming the entry that is wrong."""
    return load_settings(TrackerSettings, settings_file())


def parse_tracker_settings(data: Mapping[str, Toml]) -> TrackerSettings:
    """``data`` as settings, by tables; raises InputError naming the entry that is wrong."""
    return parse_settings(TrackerSettings, data)


def save_tracker_settings(settings: TrackerSettings) -> None:
    """Write the person's file, keeping its comments. Trackers that are off and otherwise as by default, and had no table, get none.
    Raises InputError where the file cannot be read or written."""
    unused = TrackerSettings()
    with edit_settings(settings_file()) as document:
        for name in NAMES:
            said = getattr(settings, name)
            if name in document or said != getattr(unused, name):
                document.setdefault(name, {}).update(said.model_dump())
