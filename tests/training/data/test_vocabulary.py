"""Vocabularies encode and decode as their libraries do, and a damaged one is refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from tokenizers import ByteLevelBPETokenizer, Tokenizer, pre_tokenizers

from training.data.texts.vocabulary import Characters, Vocabulary, all_bytes, find_byte_pairs, vocabulary_of
from training.facts import DataFacts
from training.system.token_text import UNKNOWN, byte_letters

TEXT = "low lower lowest newer newest wider; Ünïcödé 語 \U0001f600\n\n  two  spaces\tand 12345's end " * 5


def facts(vocabulary: Vocabulary) -> DataFacts:
    return DataFacts("tokens", (8,), "tokens", vocabulary.names, vocabulary=vocabulary.kind, merges=vocabulary.merges)


def all_kinds() -> list[Vocabulary]:
    return [Characters(sorted(set(TEXT))), all_bytes(), find_byte_pairs([TEXT], 300)]


def test_bytes_are_spelled_as_gpt2_spells_them() -> None:
    assert sorted(byte_letters()) == sorted(pre_tokenizers.ByteLevel.alphabet())
    spelled = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False).pre_tokenize_str("é ~\n")[0][0]
    assert spelled == "".join(byte_letters()[value] for value in "é ~\n".encode())


def test_byte_pairs_are_those_of_the_library() -> None:
    """Hugging Face's own byte-level tokenizer, trained on the same text."""
    reference = ByteLevelBPETokenizer()
    reference.train_from_iterator([TEXT], vocab_size=300, min_frequency=2, show_progress=False)
    found = find_byte_pairs([TEXT], 300)
    assert {name: number for number, name in enumerate(found.names)} == reference.get_vocab()
    assert found.encode(TEXT).tolist() == reference.encode(TEXT).ids
    assert len(found.encode(TEXT)) < len(TEXT.encode()) / 2


@pytest.mark.parametrize("vocabulary", all_kinds(), ids=lambda vocabulary: vocabulary.kind)
def test_decoding_undoes_encoding(vocabulary: Vocabulary) -> None:
    assert vocabulary.decode(vocabulary.encode(TEXT).tolist()) == TEXT
    kept = vocabulary_of(DataFacts.from_record(facts(vocabulary).record()))
    assert kept.encode(TEXT).tolist() == vocabulary.encode(TEXT).tolist()
    written = Tokenizer.from_str(vocabulary.tokenizer_json())
    assert written.encode(TEXT).ids == vocabulary.encode(TEXT).tolist()
    assert written.decode(written.encode(TEXT).ids) == TEXT
    assert [list(some) for some in vocabulary.encode_all([TEXT, "", "a"])] == [
        list(vocabulary.encode(some)) for some in (TEXT, "", "a")
    ]


def test_what_was_never_seen() -> None:
    characters, plain, pairs = all_kinds()
    assert characters.encode("Ω").tolist() == [0]
    assert characters.decode([0]) == "\ufffd"
    for vocabulary in (plain, pairs):
        assert vocabulary.decode(vocabulary.encode("Ω").tolist()) == "Ω"
    assert plain.encode("Ω").tolist() == [0xCE, 0xA9]
    assert plain.decode([0xCE]) == "\ufffd"
    assert plain.show(0xCE) == "<CE>"
    assert plain.show(ord("a")) == "a"


DAMAGED: list[tuple[int, dict[str, Any], str]] = [
    (0, {"names": ("a", "b")}, "characters are none"),
    (0, {"names": (UNKNOWN, "ab")}, "characters are none"),
    (0, {"vocabulary": "words"}, "no known kind"),
    (1, {"names": ("a", "b")}, "no bytes"),
    (1, {"names": tuple(reversed(byte_letters()))}, "no bytes"),
    (2, {"names": (*byte_letters(), "語")}, "no bytes"),
    (2, {"merges": ("l o", "lo xyz")}, "join no tokens"),
    (2, {"merges": ("",)}, "join no tokens"),
    (2, {"merges": (1, 2)}, "no texts"),
    (2, {"merges": 7}, "no texts"),
]


@pytest.mark.parametrize(("kind", "changes", "why"), DAMAGED)
def test_damaged_ones_are_refused(kind: int, changes: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        vocabulary_of(dataclasses.replace(facts(all_kinds()[kind]), **changes))
