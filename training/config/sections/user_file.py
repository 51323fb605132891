"""``[model]`` of a network that the person wrote."""

from __future__ import annotations

from typing import Literal

from training.config.fields import setting
from training.config.rules.signature import NETWORK
from training.config.sections.own_file import Argument, OwnFile
from training.config.sections.pretrained import StartingWeights


class UserFile(StartingWeights, OwnFile):
    """A network of your own: a Python file with a function build(...) that returns it."""

    takes = ("image", "vector", "tokens", "list")
    answers = ("sample", "place")
    purpose = NETWORK

    kind: Literal["user_file"] = "user_file"
    path: str = setting(
        title="Python file",
        help="A file that defines build(...), which returns a torch.nn.Module. Its parameters become settings here; channels, "
        "image_size, features, classes, vocabulary and context are filled in from the data.",
        path="file",
        min_length=1,
    )
    arguments: dict[str, Argument] = setting(
        {}, "Arguments of build()", "What build(...) is called with, besides what the data fills in."
    )
