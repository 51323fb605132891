"""Which trackers a person uses, and where they are: a file of the person's own, which no run and no result depends on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from platformdirs import user_config_path
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from training.errors import InputError
from training.runs.folder import RunFolder
from training.toml_text import read_config_text, read_toml

Name = Literal["tensorboard", "mlflow", "wandb"]
NAMES: tuple[Name, ...] = ("tensorboard", "mlflow", "wandb")
VARIABLES: Mapping[Name, Sequence[str]] = {
    "tensorboard": (),
    "mlflow": ("MLFLOW_TRACKING_TOKEN", "MLFLOW_TRACKING_USERNAME", "MLFLOW_TRACKING_PASSWORD"),
    "wandb": ("WANDB_API_KEY",),
}
"""Where each has its keys."""


class _Tracker(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    on: bool = True
    """Whether each new run is sent there by itself."""


class TensorBoard(_Tracker):
    """``folder``: where each run gets a folder of its own; "" for ``tracking/tensorboard`` in the run folder."""

    folder: str = ""


class MLflow(_Tracker):
    """``url`` of the server."""

    url: str = "http://127.0.0.1:5000"
    experiment: str = "Trainwright"

    @field_validator("url")
    @classmethod
    def _refuse_password(cls, url: str) -> str:
        if urlsplit(url).password:
            raise ValueError(
                "holds a password; put it into the environment as MLFLOW_TRACKING_PASSWORD, or the keyring"
            )
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
    """Where ``tracker`` has the run in ``folder``: a folder, a URL, or a project."""
    if isinstance(tracker, MLflow):
        return tracker.url
    if isinstance(tracker, TensorBoard):
        return str(Path(tracker.folder).expanduser() / folder.id if tracker.folder else folder.tracking / "tensorboard")
    if tracker.mode == "offline":
        return str(folder.tracking / "wandb")
    return f"wandb.ai, project {'/'.join(filter(None, (tracker.entity, tracker.project)))}"


def settings_file() -> Path:
    """Where a person says it."""
    return user_config_path("Trainwright", appauthor=False) / "trackers.toml"


def load_tracker_settings() -> TrackerSettings:
    """Raises InputError naming the entry that is wrong."""
    path = settings_file()
    if not path.exists():
        return TrackerSettings()
    try:
        return TrackerSettings.model_validate(read_toml(read_config_text(path), str(path)))
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise InputError(f"{path}: {place}: {first['msg']}; correct the file.") from error
