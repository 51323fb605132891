"""``python -m training generate``: a text that a trained language model goes on with."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from pathlib import Path

from training.errors import InputError
from training.runs.cli_consent import trust_run
from training.runs.folder import RunFolder
from training.runs.workspace import default_workspace, find_checkpoint, parse_path
from training.streams import print_json, say, write_out
from training.system.untrusted import escape_unprintable, visible_lines

_MOST_TOKENS = 1_000_000
_MOST_BYTES = 4
"""Of a character in UTF-8."""


def run_generate(arguments: argparse.Namespace) -> int:
    """Print the prompt and what comes after it, as it comes; returns the exit code. Raises InputError for numbers out of
    bounds, a prompt the vocabulary does not hold, and a model of no text."""
    _check(arguments)
    workspace = parse_path(arguments.workspace).absolute() if arguments.workspace else default_workspace()
    checkpoint, instead = find_checkpoint(arguments.checkpoint, workspace)
    if instead:
        say(instead)
    if arguments.trust:
        trust_run(RunFolder(checkpoint.absolute().parent.parent))
    made = []
    for piece in continue_text(checkpoint, arguments):
        made.append(piece)
        if not arguments.json:
            write_out(visible_lines(piece))
    text = "".join(made)
    if arguments.json:
        print_json({"prompt": arguments.prompt, "text": text})
    elif not text.endswith("\n"):
        write_out("\n")
    return 0


def _check(arguments: argparse.Namespace) -> None:
    temperature: float = arguments.temperature
    if not 0 <= arguments.tokens <= _MOST_TOKENS:
        raise InputError(f"--tokens {arguments.tokens}: must be between 0 and {_MOST_TOKENS:,}.")
    if not math.isfinite(temperature) or temperature < 0.0:
        raise InputError(f"--temperature {temperature:g}: must be 0 or greater, for example 0.8.")
    if arguments.top_k is not None and arguments.top_k < 1:
        raise InputError(f"--top-k {arguments.top_k}: must be at least 1.")
    if not 0 <= arguments.seed < 1 << 31:
        raise InputError(f"--seed {arguments.seed}: must be between 0 and {(1 << 31) - 1:,}.")
    if not arguments.prompt:
        raise InputError("--prompt: must hold something to go on with.")


def continue_text(checkpoint: Path, arguments: argparse.Namespace) -> Iterator[str]:
    """The prompt, then piece by piece what the model of ``checkpoint`` adds: pieces of whole characters."""
    from training.export.bundle import load_bundle
    from training.models.generate import generate

    bundle = load_bundle(checkpoint)
    facts = bundle.facts
    if facts.target != "tokens":
        raise InputError(
            f"{checkpoint} is no language model (its task is {bundle.config.objective.kind}); choose another checkpoint."
        )
    known = bundle.vocabulary
    prompt = known.encode(arguments.prompt).tolist()
    if known.kind == "characters" and 0 in prompt:
        unknown = escape_unprintable(arguments.prompt[prompt.index(0)])
        raise InputError(f"--prompt: the model never saw '{unknown}'; leave it out.")
    yield arguments.prompt
    waiting: list[int] = []
    for token in generate(
        bundle.model,
        prompt,
        arguments.tokens,
        context=facts.shape[0],
        temperature=arguments.temperature,
        top_k=arguments.top_k,
        seed=arguments.seed,
    ):
        waiting.append(token)
        piece = known.decode(waiting)
        # Half a character of several bytes waits for the rest; one that never comes is shown as what it is.
        if not piece.endswith("\ufffd") or len(waiting) >= _MOST_BYTES:
            yield piece
            waiting = []
    yield known.decode(waiting)
