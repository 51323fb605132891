"""``python -m training generate``: a text that a trained language model goes on with."""

from __future__ import annotations

import argparse
from itertools import chain

from training.cli.predict import find_and_open
from training.streams import print_json, write_out
from training.system.untrusted import visible_lines


def run_generate(arguments: argparse.Namespace) -> int:
    """Print the prompt and what comes after it, as it comes; returns the exit code. Raises InputError for numbers out of
    bounds, a prompt the vocabulary does not hold, and a model of no text."""
    from training.answering.continuation import Sampling, continue_text

    sampling = Sampling(
        tokens=arguments.tokens,
        temperature=arguments.temperature,
        top_k=arguments.top_k,
        top_p=arguments.top_p,
        seed=arguments.seed,
    )
    sampling.require_bounds(arguments.prompt, lambda name: f"--{name.replace('_', '-')}")
    pieces = continue_text(find_and_open(arguments), arguments.prompt, sampling)
    made = []
    for piece in chain([arguments.prompt], pieces):
        made.append(piece)
        if not arguments.json:
            write_out(visible_lines(piece))
    text = "".join(made)
    if arguments.json:
        print_json({"prompt": arguments.prompt, "text": text})
    elif not text.endswith("\n"):
        write_out("\n")
    return 0
