"""``tokenizer.json``: how text becomes the tokens of an exported language model."""

from __future__ import annotations

from pathlib import Path

from training.data.vocabulary import Vocabulary, vocabulary_of
from training.errors import CheckpointError
from training.export.material import Material

FILE = "tokenizer.json"


def write_tokenizer(material: Material, folder: Path) -> None:
    """Put the vocabulary into ``folder`` in the form of the tokenizers library (``Tokenizer.from_file``)."""
    (folder / FILE).write_text(vocabulary(material).tokenizer_json() + "\n", encoding="utf-8")


def vocabulary(material: Material) -> Vocabulary:
    """What the model's tokens mean. Raises CheckpointError for what no training wrote."""
    try:
        return vocabulary_of(material.facts)
    except ValueError as error:
        raise CheckpointError(
            f"{material.checkpoint}: its vocabulary is damaged ({error}); choose another checkpoint."
        ) from error
