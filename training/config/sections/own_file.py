"""Settings of a section whose code a person wrote: the file, the consent to run it, and what its ``build`` is called with."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar

from training.config.consent import is_agreed
from training.config.field_spec import FieldSpec
from training.config.fields import Section, setting
from training.config.rules.signature import Parameter, Purpose, Signature, read_signature
from training.errors import InputError, Problem
from training.system.untrusted import escape_unprintable
from training.toml_text import Toml

_DIGEST = re.compile("[0-9a-f]{64}")

Argument = bool | int | float | str | list[int | float]


class OwnFile(Section):
    """A Python file of the person's own, with a function ``build``."""

    purpose: ClassVar[Purpose]
    """What that function is for."""

    path: str = setting(title="Python file", help="A file that defines build(...).", path="file", min_length=1)
    trusted: str | None = setting(
        None,
        "Permission to run",
        "SHA-256 of the file as it was when you agreed to run it. A changed file is not run until you agree again.",
        also="trusted trust code consent agree",
        placeholder="not yet",
        consent="path",
    )
    arguments: dict[str, Argument] = setting(
        {}, "Arguments of build()", "What build(...) is called with, besides what is filled in."
    )

    @classmethod
    def rows(cls, name: str, values: Mapping[str, Toml]) -> list[FieldSpec]:
        """The parameters of the file's ``build``; none while the file cannot be read."""
        if name != "arguments" or not values.get("path"):
            return []
        try:
            signature = read_signature(Path(str(values["path"])), cls.purpose)
        except (InputError, ValueError):
            return []
        return [_spec(parameter) for parameter in signature.parameters]


def _spec(parameter: Parameter) -> FieldSpec:
    return FieldSpec(
        name=f"arguments.{parameter.name}",
        title=parameter.name.replace("_", " ").capitalize(),
        help=parameter.help or f"The parameter {parameter.name} of build(...).",
        editor=parameter.sort,
        default=parameter.default if not parameter.required else None,
        required=parameter.required,
        optional=parameter.optional,
        advanced=False,
        placeholder="none" if parameter.optional else "",
        choices=parameter.choices,
        whole=parameter.numbers == "int",
    )


def own_file_problems(config: OwnFile, section: str) -> Iterator[Problem]:
    """What is wrong with the file, the arguments, or the consent, as far as reading tells."""
    path = Path(config.path)
    if not path.is_file():
        return  # said of every path
    try:
        signature = read_signature(path, config.purpose)
    except InputError as error:
        yield Problem(f"{section}.path", error.message)
        return
    yield from argument_problems(config, section, signature)
    if refusal := explain_distrust(path, signature.digest, config.trusted):
        yield Problem(f"{section}.trusted", refusal)


def explain_distrust(path: Path, digest: str, trusted: str | None) -> str:
    """Why the file of this digest is not to be run, as a sentence; "" when the person agreed to it."""
    shown = escape_unprintable(path.name, 100)
    how = "then agree to run it (on the command line: --trust)."
    if trusted and not _DIGEST.fullmatch(trusted):  # true, yes and the like
        trusted = None
    if trusted and trusted != digest:
        return f"the file {shown} has changed since you agreed to run it; read it again, {how}"
    if not trusted:
        return f"needs your consent: read {shown}, {how}"
    return "" if is_agreed(digest) else f"nobody has agreed on this computer to run {shown}; read it, {how}"


def argument_problems(config: OwnFile, section: str, signature: Signature) -> Iterator[Problem]:
    """Arguments that ``build`` does not take, lacks, or wants otherwise."""
    known = {parameter.name: parameter for parameter in signature.parameters}
    for name, value in config.arguments.items():
        where = f"{section}.arguments.{escape_unprintable(name, 60)}"
        if name in signature.filled:
            yield Problem(where, f"{config.purpose.fills}; leave it out.")
        elif name not in known:
            yield Problem(where, f"build(...) has no such parameter; known are: {', '.join(known) or 'none'}.")
        elif wrong := _wrong(known[name], value):
            yield Problem(where, wrong)
    for name, parameter in known.items():
        if parameter.required and config.arguments.get(name, "") == "":
            yield Problem(f"{section}.arguments.{name}", "is required; give a value.")


def _wrong(parameter: Parameter, value: Any) -> str:
    """What is wrong with ``value``; "" when nothing is."""
    if value == "" and (parameter.optional or parameter.required):
        return ""
    shown = escape_unprintable(repr(value), 60)
    sorts: Mapping[str, tuple[tuple[type, ...], str]] = {
        "bool": ((bool,), "true or false"),
        "int": ((int,), "a whole number"),
        "float": ((int, float), "a number"),
        "text": ((str,), "text in quotes"),
        "choice": ((str,), f"one of {', '.join(parameter.choices)}"),
        "numbers": ((list,), "a list of numbers"),
    }
    types, words = sorts[parameter.sort]
    fits = isinstance(value, types) and (parameter.sort == "bool" or not isinstance(value, bool))
    if not fits or (parameter.sort == "choice" and value not in parameter.choices):
        return f"must be {words}, but is {shown}."
    if parameter.sort == "numbers" and parameter.numbers == "int" and not all(isinstance(item, int) for item in value):
        return f"must be a list of whole numbers, but is {shown}."
    if parameter.count and len(value) != parameter.count:
        return f"must have {parameter.count} numbers, but is {shown}."
    return ""
