"""``[dataset]`` and ``[model]`` of language models: text, and a network that goes on with it."""

from __future__ import annotations

from typing import ClassVar, Literal

from training.config.fields import Fraction, advanced, setting
from training.config.sections.data.dataset_section import DatasetSection
from training.config.sections.model_section import Dropout, ModelSection

Encoding = Literal["utf-8", "utf-16", "latin-1", "cp1252", "gb18030", "big5", "shift_jis", "euc-kr", "koi8-r"]


class TextDataset(DatasetSection):
    """A text file or a folder of them, as characters, bytes or byte pairs, each to be predicted from those before it."""

    layout = "tokens"
    called = "tokens"
    # The end is held out, nothing is drawn: no settings for it.
    split_seed: ClassVar[int] = 0  # type: ignore[misc]
    test_fraction: ClassVar[float] = 0.0  # type: ignore[misc]
    teaches = "tokens"
    no_exclude = "its samples are windows cut from one text, and without a passage all later ones are others; take the passage out of the file"

    kind: Literal["text"] = "text"
    path: str = setting(
        title="Text file",
        help="A text file, or a folder of .txt files in the order of names.",
        path="any",
        min_length=1,
    )
    context: int = setting(
        128, "Context length", "Tokens that the model sees at a time (block_size).", unit="tokens", ge=1, le=65536
    )
    vocabulary: Literal["characters", "bytes", "bpe"] = setting(
        "characters",
        "Tokenizer",
        "Characters: each one that occurs in the training text. Bytes: the 256 values, for any language. BPE: frequent pieces "
        "of words, found in the training text (byte-pair encoding).",
        also="vocabulary",
    )
    vocabulary_size: int = setting(
        1000,
        "Vocabulary size",
        "Tokens of BPE, the 256 bytes among them (vocab_size). Around 1,000 suits a book, 8,000 and more large texts.",
        unit="tokens",
        ge=257,
        le=200_000,
    )
    validation_fraction: Fraction = setting(
        0.1, "Validation split", "Share of the text, its end, held out for validation.", also="fraction held back"
    )
    validation_path: str | None = advanced(
        None,
        "Validation text",
        "Another file or folder to validate on; all of the text is trained on then.",
        path="any",
        placeholder="the end of the text",
    )
    stride: int | None = advanced(
        None,
        "Stride",
        "Tokens from the beginning of one training window to the next. Empty: the context length, so that each token is "
        "predicted once an epoch. Less gives more, overlapping windows.",
        unit="tokens",
        placeholder="the context length",
        ge=1,
        le=65536,
    )
    encoding: Encoding = advanced("utf-8", "Encoding", "Character encoding of the files; almost all are UTF-8.")


class Gpt(ModelSection):
    """A decoder-only transformer that predicts the next token of a text, small enough for a CPU."""

    takes = ("tokens",)
    answers = ("place",)

    kind: Literal["gpt"] = "gpt"
    layers: int = setting(4, "Layers", "Transformer blocks (n_layer), each of attention and an MLP.", ge=1, le=256)
    heads: int = setting(4, "Attention heads", "Of each block (n_head); they share the embedding dim.", ge=1, le=256)
    width: int = setting(
        128, "Embedding dim (d_model)", "Numbers for each token (n_embd), over all heads.", also="width", ge=2, le=65536
    )
    dropout: Dropout = setting(
        0.0, help="Probability that a number is zeroed while training (Dropout: p); 0.2 suits a small text."
    )
    positions: Literal["rotary", "learned"] = setting(
        "rotary",
        "Positional encoding",
        "RoPE: queries and keys are rotated by their position. Learned: a vector for each position, as in GPT-2.",
        also="positions",
    )
    norm: Literal["layer", "rms"] = setting(
        "layer",
        "Normalization",
        "LayerNorm: by mean and std, as in GPT-2. RMSNorm: by the root mean square, as in Llama.",
    )
    activation: Literal["gelu", "silu", "relu", "relu_squared"] = advanced(
        "gelu", "Activation", "The non-linear function inside each block's MLP."
    )
    bias: bool = advanced(False, "Biases", "In linear layers and norms, as in GPT-2; newer networks do without.")
    tie_weights: bool = setting(
        True, "Tie weights", "The last layer uses the token embedding's weights (tie_word_embeddings): saves memory."
    )
