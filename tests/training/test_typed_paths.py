"""A home folder that this machine does not have is said in a sentence, wherever a path is typed."""

from __future__ import annotations

import sys

import pytest

from training.cli import main
from training.copies.settings import parse_copy_settings
from training.errors import InputError
from training.tracking.settings import parse_tracker_settings

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="there every name has a home, beside one's own")
NOWHERE = "~nobody-of-this-name/x"


@pytest.mark.parametrize(
    "words",
    [
        ["export", "preset:spiral", "--to", "tutorial", "--out", NOWHERE],
        ["export", NOWHERE, "--to", "script", "--out", "x.py"],
        ["verify", NOWHERE],
        ["run", "preset:spiral", "--workspace", NOWHERE],
        ["predict", NOWHERE, "x.png"],
    ],
)
def test_commands_say_so(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert f"{NOWHERE}: this machine has no such home folder" in capsys.readouterr().err


def test_settings_of_far_ends_say_so() -> None:
    with pytest.raises(InputError, match="in a home folder that this machine does not have"):
        parse_copy_settings({"to": NOWHERE})
    with pytest.raises(InputError, match="in a home folder that this machine does not have"):
        parse_tracker_settings({"tensorboard": {"folder": NOWHERE}})
