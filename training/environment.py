"""``Environment``: what an attempt at a run was computed on, and from what. No torch here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from training.errors import format_bytes, pluralize
from training.system.untrusted import escape_unprintable

_MOST_LETTERS: Final = 300


def fall_back(record: type[BaseModel], value: Any, validate: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
    """The entry as validated, or its default where it is not of its type and has one."""
    field = record.model_fields[info.field_name or ""]
    try:
        return validate(value)
    except ValidationError:
        if field.is_required():
            raise
        return field.get_default()


class _Facts(BaseModel):
    """What another version knew besides is passed on; what it did not know is not set."""

    model_config = ConfigDict(frozen=True, strict=True, extra="allow")

    @field_validator("*", mode="wrap")
    @classmethod
    def _pass_over(cls, value: Any, validate: ValidatorFunctionWrapHandler, info: ValidationInfo) -> Any:
        """One entry that somebody edited does not take the others along."""
        return fall_back(cls, value, validate, info)

    def record(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return self.model_dump(mode="json", exclude_unset=True)


class SourceState(_Facts):
    """The commit of a file or folder, and whether its content is another; without a commit it lies in no repository."""

    file: str | None = None
    commit: str | None = None
    dirty: bool | None = None

    def __str__(self) -> str:
        return f"{self.commit[:12]}{' with changes' if self.dirty else ''}" if self.commit else "no commit"


class InitialWeights(_Facts):
    """Weights that a network began with: ``taken`` tensors of them, and fresh ones where ``fresh`` names them."""

    name: str
    file: str
    sha256: str
    taken: int
    fresh: tuple[str, ...] = Field(strict=False)


class Environment(_Facts):
    """Kept in ``environment.json`` and in the event that begins an attempt."""

    host: str | None = None
    platform: str | None = None
    processor: str | None = None
    instructions: str | None = None
    cores: int | None = None
    memory_mb: int | None = None
    trainwright: str | None = None
    python: str | None = None
    executable: str | None = None
    engine: str | None = None
    torch: str | None = None
    torchvision: str | None = None
    numpy: str | None = None
    cuda: str | None = None
    cudnn: int | None = None
    driver: str | None = None
    device: str | None = None
    device_type: str | None = None
    device_name: str | None = None
    device_index: int | None = None
    devices: int | None = None
    device_names: tuple[str, ...] = Field(default=(), strict=False)
    shm_mb: int | None = None
    tf32: bool | None = None
    threads: int | None = None
    ranks: int | None = None  # processes, of a run that several can share
    channels_last: bool | None = None
    optimizer: str | None = None
    compile: str | None = None
    compiler: str | None = None
    seeds: dict[str, int] = {}
    weights: InitialWeights | None = None
    data: str | None = None
    variables: dict[str, str] = {}
    packages: str | None = None
    code: dict[str, SourceState] = {}


def list_facts(environment: Environment) -> Iterator[tuple[str, str]]:
    """What it was computed on and with, without the names of machines and people."""
    hardware = (environment.processor, environment.instructions)
    threads = pluralize(environment.threads, "thread") if environment.threads else ""
    ranks = pluralize(environment.ranks, "rank") if environment.ranks else ""
    memory = format_bytes(environment.memory_mb * 2**20) if environment.memory_mb else ""
    rows = (
        ("Device", (environment.device, environment.device_name, *environment.device_names, ranks)),
        ("CPU", (*hardware, pluralize(environment.cores, "core") if environment.cores else "", threads)),
        ("Memory", (memory,)),
        ("System", (environment.platform,)),
        ("Trainwright", (environment.trainwright,)),
        ("Engine", (environment.engine,)),
        ("Python", (environment.python,)),
        ("PyTorch", (environment.torch, f"torchvision {environment.torchvision}" if environment.torchvision else "")),
        ("CUDA", (environment.cuda, f"cuDNN {environment.cudnn}" if environment.cudnn else "", environment.driver)),
        ("NumPy", (environment.numpy,)),
        ("Compiler", (environment.compile, environment.compiler)),
        ("Optimizer", (environment.optimizer,)),
        ("Seeds", tuple(f"{name} {seed}" for name, seed in environment.seeds.items())),
        ("Variables", tuple(f"{name}={value}" for name, value in environment.variables.items())),
        ("Code", tuple(f"{name} {state}" for name, state in environment.code.items())),
        ("Packages", (environment.packages and f"SHA-256 {environment.packages}",)),
    )
    for title, parts in rows:
        words = ", ".join(dict.fromkeys(part for part in parts if part))
        if words:
            yield title, escape_unprintable(words, _MOST_LETTERS)
