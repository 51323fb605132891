"""``model.py``: the plain Python file beside an exported model that loads and uses it, without Trainwright."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from training.config.sections.user_file import UserFile
from training.export.bundle import ExportBundle
from training.export.network_listing import Network, describe_network
from training.export.own_network import call_build
from training.export.source import render_module
from training.export.usage import samples, weights
from training.own_code.run_file import text_of
from training.runs.export_consent import CODE
from training.tutorial.definitions import Definitions

FILE = "model.py"


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
    if bundle.facts.layout == "image":
        definitions.take(samples.__name__, "read_image")
    if bundle.objective.is_embedding:
        definitions.take(samples.__name__, "distance")
    if bundle.facts.columns:
        definitions.take(samples.__name__, "read_rows")
    words = (
        f"Use {path.name} without Trainwright: ``model, facts = load_model()``, then ``predict(model, facts, ...)``."
    )
    text = render_module(words, bundle.checkpoint, network, definitions.text)
    (path.parent / FILE).write_text(text, encoding="utf-8")
