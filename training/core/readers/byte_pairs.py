"""A vocabulary of pairs of bytes that a text joins often."""

from __future__ import annotations

from collections.abc import Iterable

from tokenizers import Tokenizer, models, pre_tokenizers, trainers


def train_byte_pairs(pieces: Iterable[str], size: int) -> Tokenizer:
    """Byte-level byte-pair encoding (Radford et al. 2019; Sennrich et al. 2016, arXiv:1508.07909) of at most ``size``
    tokens, the frequent pairs of ``pieces`` first; fewer where no pair comes twice. The same text gives the same
    vocabulary, on any number of cores."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=size, min_frequency=2, initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(iter(pieces), trainer)
    return tokenizer
