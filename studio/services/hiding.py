"""Takes out of a report what is nobody's business but the person's: names and places of runs, data and people."""

from __future__ import annotations

import getpass
import re
import socket

_MOST_SEARCHED = 2000  # letters of a line: the search takes the square of them, minutes for a hundred thousand
_RUN = re.compile(r"[\w.-]*-\d{8}-\d{6}-[0-9a-f]{4}\b")
"""The name of a run's folder, which holds the name that a person gave."""
_ACCOUNT = re.compile(r"(?<=//)[^\s/@]*@|(?<![^\s'\"=])[^\s/@:]+:[^\s/@]+@(?=[\w.-]+:\d)")
"""Name and password in an address."""
_QUOTED = re.compile("“[^”\n]*”")
_CODE = re.compile(
    r"""[^\s"']*[/\\](?=(?:site-packages|dist-packages|lib/python3\.\d+|studio|training)[/\\][^\s"']*\.py\b)"""
)
_FRAME = re.compile(r'File "(?!…)[^"\n]*[/\\]([^"/\\\n]+\.py)"')
"""Of a traceback, in a file of the person's own: which folder it lies in tells nothing."""
_LETTERS = r"""[^\s"'<>|:;,()\[\]“”]"""
"""What a path may be made of where it stands without quotation marks."""
_WORD = r"""[^\s"'<>|:;,()\[\]“”/\\]+"""
_SENTENCE = (
    r"(?:is|are|was|were|be|can|cannot|could|has|have|had|does|did|holds|lies|will|would|must|may|needs|stays|took|gave|"
    r"because|which|that|while|where|when|if|but|not|it|there)\b|(?:and|or|to|from|in|with)[ ]+(?:[~/\\]|\w+:[/\\])"
)
"""Words that no name of a folder goes on with: those of our own sentences."""
_PLACE = re.compile(
    r"""(?P<mark>["'])(?:~|[A-Za-z]:)?[/\\][^"'\n]*(?P=mark)"""
    rf"""|(?<![\w.…])(?:~|[A-Za-z]:|\w+:/)?[/\\]{_LETTERS}+"""
    rf"""(?:(?:[ ]+{_WORD}){{0,3}}[ ]+{_LETTERS}*[/\\]{_LETTERS}*)*(?:[ ]+(?!{_SENTENCE}){_LETTERS}+)*"""
)
"""A path in quotation marks, or one whose blanks are taken for its own where another slash follows soon, or until a sentence goes on: a
word too many is hidden rather than one too few."""


def hide_places(text: str) -> str:
    """``text`` without paths (those of installed code are cut to what is the same everywhere), names of runs, what stands in “ ”, names
    and passwords in addresses, and the names of this computer and of who uses it. A line is cut at 2,000 letters."""
    names = [
        (name, word) for name, word in ((_find_user(), "‹user›"), (socket.gethostname(), "‹computer›")) if len(name) > 2
    ]
    return "\n".join(_hide(line[:_MOST_SEARCHED], names) for line in text.split("\n"))


def _hide(line: str, names: list[tuple[str, str]]) -> str:
    line = _RUN.sub("‹run›", _QUOTED.sub("“…”", _ACCOUNT.sub("", line)))
    line = _PLACE.sub("‹path›", _FRAME.sub(r'File "…/\1"', _CODE.sub("…/", line)))
    for name, word in names:
        line = re.sub(rf"\b{re.escape(name)}\b", word, line)
    return line


def _find_user() -> str:
    try:
        return getpass.getuser()
    except (
        OSError,
        KeyError,
        ImportError,
    ):  # a number without a name; before Python 3.13 each system has its own error
        return ""
