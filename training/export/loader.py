"""``model.py`` and ``preprocess.py``: the plain Python files beside an exported model that use it, without Trainwright."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from training.config.sections.user_file import UserFile
from training.export.bundle import ExportBundle
from training.export.network_listing import Network, describe_network
from training.export.own_network import call_build
from training.export.source import render_module
from training.export.usage import preprocess, program, samples, tokens, weights
from training.own_code.run_file import text_of
from training.runs.export_consent import CODE
from training.tutorial.definitions import Definitions
from training.verify.kept import PREPROCESS
from training.verify.runtimes import MODEL as FILE


def write_loader(bundle: ExportBundle, path: Path, usage: ModuleType) -> None:
    """Put it beside the exported file ``path``; ``usage`` is the module of ``training.export.usage`` that it is made of."""
    names, network = ["load_model", "logits", "predict"], None
    if usage is weights and isinstance(config := bundle.config.model, UserFile):
        (path.parent / CODE).write_text(text_of(config, "model", bundle.code_file).text, encoding="utf-8")
        build = call_build(config, bundle.code_file, bundle.facts, bundle.objective.outputs)
        network = Network("The network.", [f'return load_code("{CODE}").{build}'])
        names.append("load_code")
    elif usage is weights:
        network = describe_network(bundle, trained=True)
    definitions = Definitions(given="make_model")
    for name in names:
        definitions.take(usage.__name__, name)
    if bundle.objective.is_embedding:
        definitions.take(samples.__name__, "distance")
    if usage in (weights, program):
        if bundle.facts.layout == "image":
            definitions.take(samples.__name__, "read_image")
        if bundle.facts.columns:
            definitions.take(preprocess.__name__, "read_rows")
    words = (
        f"Use {path.name} without Trainwright: ``model, facts = load_model()``, then ``predict(model, facts, ...)``."
    )
    text = render_module(words, bundle.checkpoint, network, definitions.text)
    (path.parent / FILE).write_text(text, encoding="utf-8")


def write_preprocess(bundle: ExportBundle, path: Path) -> bool:
    """Put ``preprocess.py`` beside the graph ``path``: it makes what the graph takes of a file, a row or a text, and needs NumPy and
    Pillow alone. Returns whether there is anything to read: numbers without names are what the graph takes already."""
    facts, definitions = bundle.facts, Definitions()
    if facts.layout == "image":
        example, made = "read_image(facts, FILE)", (preprocess.__name__, "read_image")
    elif facts.vocabulary:
        example, made = "read_text(facts, TEXT)", (tokens.__name__, "read_text")
    elif facts.columns:
        example, made = "read_rows(facts, ROWS)", (preprocess.__name__, "read_rows")
    else:
        return False
    definitions.take(preprocess.__name__, "load_facts")
    definitions.take(*made)
    words = f"What {path.name} takes: ``facts = load_facts()``, then ``{example}``."
    text = render_module(words, bundle.checkpoint, None, definitions.text)
    (path.parent / PREPROCESS).write_text(text, encoding="utf-8")
    return True
