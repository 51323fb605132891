"""How tokens are spelled, and read as text again: names of characters, or of bytes as GPT-2 writes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

UNKNOWN = "<unknown>"
"""Name of token 0 where a vocabulary does not hold every character."""
_NO_CHARACTER = "\ufffd"


def byte_letters() -> list[str]:
    """For each byte a visible character, as GPT-2 spells it: itself where it is one, else one from U+0100 on."""
    visible = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    hidden = [value for value in range(256) if value not in visible]
    return [chr(value if value not in hidden else 256 + hidden.index(value)) for value in range(256)]


def spell_bytes(names: Sequence[str]) -> tuple[bytes, ...]:
    """The bytes of each token whose name spells them."""
    values = {letter: value for value, letter in enumerate(byte_letters())}
    return tuple(bytes(values[letter] for letter in name) for name in names)


def show_bytes(content: bytes) -> str:
    """The text of ``content``, or in hexadecimal the bytes that are none by themselves."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"<{content.hex(' ').upper()}>"


def show_tokens(names: Sequence[str]) -> list[str]:
    """Each token as a person reads it, of the ``names`` of the whole vocabulary."""
    is_characters = names[:1] and names[0] == UNKNOWN
    return list(names) if is_characters else [show_bytes(content) for content in spell_bytes(names)]


def make_decoder(names: Sequence[str]) -> Callable[[Sequence[int]], str]:
    """What makes text of tokens, whose ``names`` are those of the whole vocabulary; what is none (half a character, an unknown one) is shown
    as U+FFFD."""
    if names[:1] and names[0] == UNKNOWN:
        return lambda tokens: "".join(names[token] if token else _NO_CHARACTER for token in tokens)
    spelled = spell_bytes(names)
    return lambda tokens: b"".join(spelled[token] for token in tokens).decode("utf-8", "replace")
