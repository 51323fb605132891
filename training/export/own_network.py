"""A person's own network, loss or Dataset in an export: their file as it is, beside what calls it."""

from __future__ import annotations

import ast
from pathlib import Path

from training.config.sections.data.own_data import OwnDataSection
from training.config.sections.objective import OwnLoss
from training.config.sections.user_file import UserFile
from training.errors import InputError
from training.facts import DataFacts
from training.models.own.user_file import arguments_of
from training.objectives.own_loss import arguments_of as loss_arguments
from training.own_code.run_file import chosen_arguments, text_of
from training.tutorial.literals import ONE_LINE, call, keywords


def call_build(config: UserFile, code: Path | None, facts: DataFacts, outputs: int) -> str:
    """The call that makes the network. ``code`` is a run's copy of the file."""
    return call("build", keywords(**arguments_of(config, text_of(config, "model", code), facts, outputs)), ONE_LINE)


def write_own_module(
    config: UserFile, code: Path | None, facts: DataFacts, outputs: int, makes: str, words: str
) -> str:
    """The file below a comment of ``words``, and a function ``makes`` that returns the network. Raises InputError for a file that
    draws with Python's or NumPy's random numbers: in a run they follow from seed and step, a script has torch's alone."""
    text = text_of(config, "model", code).text
    if _draws_without_torch(text):
        raise InputError(
            "model.path: the file draws with Python's or NumPy's random numbers, which a script does not repeat; draw with torch "
            "and train with that, or export safetensors, torch-export or onnx instead."
        )
    return f"# {words}\n{text.strip()}\n\n\ndef {makes}():\n    return {call_build(config, code, facts, outputs)}\n"


def write_own_loss(config: OwnLoss, code: Path | None, outputs: int, words: str) -> str:
    """The file of a loss below a comment of ``words``, and the function ``make_loss`` that returns it on a device. Raises InputError as
    ``write_own_module`` does."""
    signature = text_of(config, "objective", code)
    if _draws_without_torch(signature.text):
        raise InputError(
            "objective.path: the file draws with Python's or NumPy's random numbers, which a script does not repeat; draw with torch "
            "and train with that, or export safetensors, torch-export or onnx instead."
        )
    built = call("build", keywords(**loss_arguments(config, signature, outputs)), ONE_LINE)
    making = f'    loss = {built}\n    return loss.to(device) if hasattr(loss, "to") else loss\n'
    return f"# {words}\n{signature.text.strip()}\n\n\ndef make_loss(device):\n{making}"


def write_own_dataset(config: OwnDataSection, code: Path | None, words: str) -> str:
    """The file of a Dataset below a comment of ``words``, and the function ``make_dataset`` that returns what trains."""
    signature = text_of(config, "dataset", code)
    built = call("build", keywords(split="train", **chosen_arguments(config, signature)), ONE_LINE)
    return f"# {words}\n{signature.text.strip()}\n\n\ndef make_dataset():\n    return {built}\n"


def _draws_without_torch(text: str) -> bool:
    nodes = list(ast.walk(ast.parse(text)))
    found: list[str] = []
    bound: dict[str, str] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
            bound |= {alias.asname or alias.name: alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found += [f"{node.module}.{alias.name}" for alias in node.names]
            bound |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            found.append(f"{bound.get(node.value.id)}.{node.attr}")
    return any(f"{name}.".startswith(("random.", "numpy.random.")) for name in found)
