"""The border between window and engine: what one side cannot read of the other is a sentence, never an exception."""

from __future__ import annotations

import json

import pytest

from training.errors import Problem
from training.protocol.messages import (
    Finished,
    Ready,
    Refusal,
    Reply,
    ResumeRequest,
    Started,
    UnknownRequest,
    format_line,
    parse_reply,
    parse_request,
)


@pytest.mark.parametrize(
    "reply",
    [
        Ready(torch="2", devices=("cpu",), unwritable={"onnx": "why"}),
        Started(id=3, run="a", folder="/runs/a\udcff"),  # type: ignore[arg-type]
        Refusal(id=4, message="No.", advice="Yes.", problems=(Problem("loop.epochs", "is wrong", {"loop.epochs": 3}),)),
        Finished(id=5, result={"run": "a", "folder": "/a", "metrics": {"val/loss": float("inf")}}),  # type: ignore[arg-type]
    ],
)
def test_a_reply_comes_over_the_wire_whole(reply: Reply) -> None:
    assert parse_reply(format_line(reply)) == reply


def test_the_way_out_of_a_problem_comes_along() -> None:
    refusal = parse_reply(b'{"reply": "refused", "id": 1, "problems": [["a.b", "c"], ["d.e", "f", {"d.e": 1}]]}')
    assert isinstance(refusal, Refusal)
    assert [dict(problem.fix) for problem in refusal.problems] == [{}, {"d.e": 1}]


@pytest.mark.parametrize("line", [b"a library says hello", b"{broken", b"[1]", b"{}", b'{"reply": "sings", "id": 1}'])
def test_what_is_no_reply_of_this_version_is_passed_over(line: bytes) -> None:
    assert parse_reply(line) is None


def test_a_reply_that_is_not_as_it_should_be_is_a_refusal() -> None:
    refusal = parse_reply(json.dumps({"reply": "finished", "id": 7, "result": {"status": "completed"}}).encode())
    assert isinstance(refusal, Refusal)
    assert refusal.id == 7
    assert refusal.message.startswith("The engine's answer cannot be read (finished.result.run: Field required")


def test_a_request_that_is_not_as_it_should_be_says_so() -> None:
    assert parse_request(b"no json") is None
    unknown = parse_request(b'{"id": 2, "action": "dance"}')
    assert unknown == UnknownRequest(id=2, action="dance")
    incomplete = parse_request(b'{"id": 2, "action": "resume"}')
    assert incomplete == UnknownRequest(id=2, action="resume", fault="resume.target: Field required")
    assert isinstance(parse_request(b'{"id": 2, "action": "resume", "target": "a"}'), ResumeRequest)
