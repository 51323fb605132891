"""``python -m training verify``: the proof of an exported file, repeated. Needs NumPy, ONNX Runtime and Pillow, and no torch."""

from __future__ import annotations

import argparse
import json

from training.errors import TrainingError
from training.streams import say, write_out
from training.typed_paths import parse_path
from training.verify.check import describe, describe_place, verify_export


def verify(arguments: argparse.Namespace) -> int:
    """Prove it; returns the exit code: 1 where it does not answer as the model does."""
    found = verify_export(parse_path(arguments.file).absolute(), arguments.trust)
    say(describe(found.told))
    latency, told = found.told["latency_ms"], found.told
    say(f"{told['runtime']}: {latency['alone']:.3g} ms for a sample alone, {latency['together']:.3g} ms together.")
    if told.get("preprocess", 0) is None:
        say("Its preprocess.py was not run; add --trust where you trust its author, to prove that, too.")
    if arguments.json:
        write_out(json.dumps({**told, "faults": found.faults}, default=float) + "\n")
    if found.faults:
        raise TrainingError(
            f"{arguments.file}: does not answer as the model that was exported: {'; '.join(found.faults)}.{describe_place(told)}"
        )
    nearly = told.get("dtype") == "int8"
    say(
        f"It passes its proof{': in int8 answers may differ by this much' if nearly else ', and answers as the model that was exported'}."
    )
    return 0
