"""What the window's engine answers."""

from __future__ import annotations

from typing import Any

from training.protocol.messages import Done, Progress, Reply, Request
from training.serve import Server


def asked(request: Request) -> dict[str, Any]:
    """Of a new engine."""
    replies: list[Reply] = []
    Server(replies.append).answer(request)
    (reply,) = [each for each in replies if not isinstance(each, Progress)]
    assert isinstance(reply, Done), reply
    return reply.result
