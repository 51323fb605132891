"""``[dataset]`` and ``[model]`` of language models: text, and a network that goes on with it."""

from __future__ import annotations

from typing import ClassVar, Literal

from training.config.dataset_section import DatasetSection
from training.config.fields import setting
from training.config.model_section import ModelSection
from training.facts import Target

Encoding = Literal["utf-8", "utf-16", "latin-1", "cp1252", "gb18030", "big5", "shift_jis", "euc-kr", "koi8-r"]


class TextDataset(DatasetSection):
    """A text, or a folder of texts, cut into windows of tokens."""

    layout = "tokens"
    called = "tokens"
    # The end is held back, nothing is drawn: no settings for it.
    split_seed: ClassVar[int] = 0  # type: ignore[misc]
    test_fraction: ClassVar[float] = 0.0  # type: ignore[misc]

    @property
    def target(self) -> Target | None:
        return "tokens"

    kind: Literal["text"] = "text"
    path: str = setting(
        title="Text",
        help="A text file, or a folder whose .txt files are read one after another in the order of their names.",
        path="any",
        min_length=1,
    )
    context: int = setting(
        128,
        title="Context",
        help="How many tokens the model sees at a time; each window predicts as many.",
        unit="tokens",
        ge=1,
        le=65536,
    )
    vocabulary: Literal["characters", "bytes", "bpe"] = setting(
        "characters",
        title="Vocabulary",
        help="characters: each one that occurs in the training text. bytes: the 256 values, for any language. bpe: frequent "
        "pieces of words, found in the training text (byte-pair encoding).",
    )
    vocabulary_size: int = setting(
        1000,
        title="Vocabulary size",
        help="Tokens to find with bpe, the 256 bytes among them. Around 1,000 suits a book, 8,000 and more large texts.",
        unit="tokens",
        ge=257,
        le=200_000,
    )
    validation_fraction: float = setting(
        0.1,
        title="Validation fraction",
        help="Share of the text, its end, held back to judge the model.",
        gt=0.0,
        lt=1.0,
    )
    validation_path: str | None = setting(
        None,
        title="Validation text",
        help="Another file or folder to judge the model by; all of the text is trained on then.",
        path="any",
        placeholder="the end of the text",
        advanced=True,
    )
    stride: int | None = setting(
        None,
        title="Stride",
        help="Tokens from the beginning of one training window to the next. Empty: the context, so that each token is "
        "predicted once an epoch. Less gives more, overlapping windows.",
        unit="tokens",
        placeholder="the context",
        advanced=True,
        ge=1,
        le=65536,
    )
    encoding: Encoding = setting(
        "utf-8", title="Encoding", help="How the files keep their characters; almost all are UTF-8.", advanced=True
    )


class Gpt(ModelSection):
    """A decoder-only transformer that predicts the next token at each place."""

    takes = ("tokens",)
    answers = ("place",)

    kind: Literal["gpt"] = "gpt"
    layers: int = setting(4, title="Layers", help="Blocks of attention and a small MLP.", ge=1, le=256)
    heads: int = setting(4, title="Heads", help="Of each attention; they share the width.", ge=1, le=256)
    width: int = setting(
        128, title="Width", help="Numbers for each token between the blocks; divided by the heads.", ge=2, le=65536
    )
    dropout: float = setting(
        0.0,
        title="Dropout",
        help="Share of numbers silenced at random while training; 0.2 suits a small text.",
        ge=0.0,
        lt=1.0,
    )
    positions: Literal["rotary", "learned"] = setting(
        "rotary",
        title="Positions",
        help="rotary: queries and keys are turned by their place. learned: a vector for each place, as in GPT-2.",
    )
    norm: Literal["layer", "rms"] = setting(
        "layer",
        title="Norm",
        help="layer: by mean and spread, as in GPT-2. rms: by size alone, as in Llama; a little faster.",
    )
    activation: Literal["gelu", "silu", "relu", "relu_squared"] = setting(
        "gelu", title="Activation", help="The non-linear function inside each block's MLP.", advanced=True
    )
    bias: bool = setting(
        False,
        title="Biases",
        help="In linear layers and norms, as in GPT-2; newer networks do without.",
        advanced=True,
    )
    tie_weights: bool = setting(
        True,
        title="Tie weights",
        help="The last layer uses the weights of the token embedding, which saves memory with a large vocabulary.",
    )
