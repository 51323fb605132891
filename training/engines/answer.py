"""What a trial of a Python answered, and what that means for a person: whether it can train, with what, and what to do where not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

import training
from training.engines.requirements import Requirement, is_met
from training.errors import format_bytes
from training.system.resources import find_engine_wheel

OLDEST_PYTHON: Final = (3, 11)
State = Literal["ready", "limited", "unfit", "gone"]
_ACCURACY = 1e-3
"""The largest difference of a product of matrices that its device's rounding explains: TF32 has 10 bits."""

OPTIONAL: Final = {
    "torchvision": "torchvision's networks and some of its datasets",
    "onnx": "export to ONNX",
    "onnxscript": "export to ONNX",
    "onnxruntime": "export to ONNX",
}
"""What an engine can do without, and what is then left out."""


class Device(BaseModel):
    """A device of torch's, in its words. ``difference``: see ``trial_script.try_device``."""

    model_config = ConfigDict(frozen=True)

    device: str
    name: str = ""
    free: int | None = None
    total: int | None = None
    difference: float | None = None
    error: str = ""

    @property
    def problem(self) -> str:
        """Why it cannot be used; "" where it can."""
        if self.error:
            return f"{self.name or self.device} cannot compute: {self.error}"
        if self.difference is None or not self.difference < _ACCURACY:
            return f"{self.name or self.device} computes wrong products of matrices"
        return ""

    def __str__(self) -> str:
        memory = f", {format_bytes(self.free)} of {format_bytes(self.total)} free" if self.total and self.free else ""
        return f"{self.name}{memory}"


class Answer(BaseModel):
    """The facts, as the script told them. ``ended``: how the process ended where it did not end well."""

    model_config = ConfigDict(frozen=True)

    python: str = ""
    bits: int = 64
    machine: str = ""
    prefix: str = ""
    base: str = ""
    site: tuple[str, ...] = ()
    externally_managed: bool = False
    packages: dict[str, str | None] = {}
    training: str | None = None
    training_file: str | None = None
    training_error: str = ""
    torch: str | None = None
    torch_error: str = ""
    cuda: str | None = None
    hip: str | None = None
    torchvision: str | None = None
    torchvision_error: str = ""
    devices: tuple[Device, ...] = ()
    memory: int | None = None
    stage: str = ""
    ended: str = ""

    @property
    def build(self) -> str:
        """What its torch was built for; "" without torch."""
        if self.torch is None:
            return ""
        if self.hip:
            return f"ROCm {self.hip}"
        if self.cuda:
            return f"CUDA {self.cuda}"
        return "MPS" if any(each.device == "mps" for each in self.devices) else "CPU"

    @property
    def gpus(self) -> list[Device]:
        """Those that compute as they should."""
        return [each for each in self.devices if each.device != "cpu" and not each.problem]


class Verdict(BaseModel):
    """``problem`` is one sentence, ``remedy`` the way out; ``lacks`` are sentences on what is left out, of one that can train."""

    model_config = ConfigDict(frozen=True)

    state: State
    problem: str = ""
    remedy: str = ""
    lacks: tuple[str, ...] = ()


def parse_answer(facts: dict[str, Any]) -> Answer | None:
    """The facts as an answer; None where they are none of ours."""
    try:
        return Answer.model_validate(facts)
    except ValidationError:
        return None


def judge(answer: Answer, python: str, requirements: Sequence[Requirement]) -> Verdict:
    """What becomes of the facts."""
    problem = _find_problem(answer, python, requirements)
    if problem is not None:
        return Verdict(state="unfit", problem=problem[0], remedy=problem[1])
    lacks = _list_absences(answer, requirements)
    return Verdict(state="limited" if lacks else "ready", lacks=tuple(lacks))


def _find_problem(answer: Answer, python: str, requirements: Sequence[Requirement]) -> tuple[str, str] | None:
    version = answer.python
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if not version:
        return f"It does not start: {answer.ended or 'it said nothing'}.", "Choose another one, or remove it."
    if numbers < OLDEST_PYTHON:
        oldest = ".".join(map(str, OLDEST_PYTHON))
        return f"It is Python {version}, and Python {oldest} or newer is needed.", "Choose or install a newer Python."
    if answer.bits != 64:
        return "It is a Python of 32 bits, and there is no torch for those.", "Install a Python of 64 bits."
    install = f"{python} -m pip install"
    found = _find_fault(answer, install, requirements)
    if found is not None and answer.externally_managed:
        return found[
            0
        ], "Its packages belong to the system, which lets nobody else install there: install an engine instead."
    return found


def _find_fault(answer: Answer, install: str, requirements: Sequence[Requirement]) -> tuple[str, str] | None:
    """What is wrong with its packages."""
    if answer.torch is None:
        return explain_torch(answer, install)
    missing = [each.name for each in requirements if answer.packages.get(each.name) is None]
    missing = [name for name in missing if name not in OPTIONAL]
    if missing:
        names = ", ".join(missing)
        return f"It lacks {names}.", f"Install what is missing there: {install} {' '.join(missing)}"
    old = [each for each in requirements if each.name not in OPTIONAL and not is_met(each, answer.packages[each.name])]
    if old:
        names = ", ".join(f"{each.name} {answer.packages[each.name]} (needed: {each.specifier})" for each in old)
        wanted = " ".join(f'"{each.name}{each.specifier}"' for each in old)
        return f"It has {names}.", f"Install it there: {install} {wanted}"
    wheel = find_engine_wheel()  # what came with the program is of this version, and needs no index
    ours = f'"{wheel}"' if wheel is not None else f"trainwright=={training.__version__}"
    if answer.training is None:
        why = f" ({answer.training_error})" if answer.training_error else ""
        return f"Trainwright's engine is not installed in it{why}.", f"Install it there: {install} {ours}"
    if answer.training != training.__version__:
        return (
            f"It holds version {answer.training} of Trainwright's engine, and this is {training.__version__}.",
            f"Install the same there: {install} {ours}",
        )
    broken = [each for each in answer.devices if each.device == "cpu" and each.problem]
    if broken or answer.ended:
        return f"{broken[0].problem if broken else f'It was tried, and {answer.ended}'}.", "Install torch there again."
    return None


def explain_torch(answer: Answer, install: str) -> tuple[str, str]:
    """Why there is no torch, in one sentence, and the way out."""
    again = f"Install it there again: {install} --force-reinstall torch torchvision"
    if answer.stage == "torch" and answer.ended and not answer.torch_error:
        return f"torch is broken: loading it, {answer.ended}.", again
    if not answer.torch_error:
        return "torch is not installed in it.", f"Install it there ({install} torch torchvision), or install an engine."
    for pattern, sentence, remedy in _FAULTS:
        if found := re.search(pattern, answer.torch_error):
            named = next((group for group in found.groups() if group), "")
            return f"torch is broken: {sentence.format(named)}.", remedy or again
    return f"torch is broken: {answer.torch_error.removesuffix('.')}.", again


_FAULTS: Final = (
    (r"(GLIBC(?:XX)?_[\d.]+)'? not found", "this system is older than it was built for ({})", "Install an older torch."),
    (r"(\S+\.so[.\d]*): cannot open shared object", "its library {} is missing", ""),
    (r"undefined symbol: (\S+)", "its libraries do not fit together (undefined symbol {})", ""),
    (r"WinError (126|1114)", "Windows cannot load its libraries (WinError {})", "Install Microsoft's VC++ runtime (vc_redist.x64.exe)."),
    (r"(?i)(failed to map segment|cannot allocate memory)", "there is not enough memory to load it ({})", "End other programs."),
    (r"No module named '?(\w+)", "it needs {}, which is missing", ""),
)  # fmt: skip


def _list_absences(answer: Answer, requirements: Sequence[Requirement]) -> list[str]:
    asked = {each.name for each in requirements}
    lacks = []
    for name, use in OPTIONAL.items():
        if name not in asked:
            continue
        if name == "torchvision" and answer.torchvision_error:
            lacks.append(f"torchvision is broken ({answer.torchvision_error}): {use} are left out.")
        elif answer.packages.get(name) is None:
            lacks.append(f"{name} is not installed: {use} {'are' if use.endswith('s') else 'is'} left out.")
    lacks += [f"{each.problem}." for each in answer.devices if each.device != "cpu" and each.problem]
    return lacks
