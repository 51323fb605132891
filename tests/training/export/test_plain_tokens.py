"""The tokenizer in ``preprocess.py``, plain Python, gives the tokens of the tokenizers library."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from training.data.texts.vocabulary import Characters, Vocabulary, all_bytes, find_byte_pairs
from training.export.usage import tokens
from training.facts import DataFacts

TEXT = "It's the year 2026, isn't it? We'll see: naïve Zoë’s café\n\n\tsold  1,234½ çà ☃☃ of 漢字 and Ⅻ.\r\n  They'd've x_y "
LETTERS = "ab's tl  \n\t\r\x0b\x1c\x85\xa0\u2003\u200b\u3000é ½Ⅻ٣漢字_☃😀'’,.!-"


def vocabularies() -> list[Vocabulary]:
    return [find_byte_pairs([TEXT * 3, "the cat and the hat " * 20], 400), all_bytes(), Characters(sorted(set(TEXT)))]


@pytest.mark.parametrize("vocabulary", vocabularies(), ids=lambda each: each.kind)
def test_tokens_are_those_of_the_library(
    vocabulary: Vocabulary, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tokenizer.json").write_text(vocabulary.tokenizer_json(), encoding="utf-8")
    monkeypatch.setattr(tokens, "__file__", str(tmp_path / "preprocess.py"))
    tokens.load_vocabulary.cache_clear()
    draw = random.Random(0)
    made = ["".join(draw.choices(LETTERS, k=draw.randrange(1, 30))) for _ in range(400)]
    for text in (TEXT, "the hat  ", *made):
        assert tokens.encode_text(text, vocabulary.names) == vocabulary.encode(text).tolist(), repr(text)
    facts = DataFacts("tokens", (8,), "tokens", vocabulary.names)
    read, lengths = tokens.read_text({"input": {"shape": [8]}, "classes": list(facts.names)}, "the cat")  # type: ignore[typeddict-item]
    expected = vocabulary.encode("the cat").tolist()[-8:]
    assert read[0, : lengths[0]].tolist() == expected
    assert not read[0, lengths[0] :].any()
    with pytest.raises(ValueError, match="the text is empty"):
        tokens.read_text({"input": {"shape": [8]}, "classes": list(facts.names)}, "")  # type: ignore[typeddict-item]
    tokens.load_vocabulary.cache_clear()
