"""The table of findings: every code once, described in the help as the rule has it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.training.findings.help_page import PAGE, make_page
from training.config import parse_config
from training.errors import ConfigError, InputError
from training.findings import FAMILIES, RULES, is_named, merge_fixes, without_idle_fix, without_muted
from training.findings.tables import IDENTIFIER, TARGET_LEAK


def test_every_code_stands_in_the_help_with_its_threshold() -> None:
    assert sum(map(len, FAMILIES.values())) == len(RULES), "a code is taken twice"
    assert PAGE.read_text(encoding="utf-8") == make_page(), "python -m tests.training.findings.help_page writes it"


def test_a_finding_is_named_by_its_code_and_by_its_place() -> None:
    leak = TARGET_LEAK.find("warning", "…", place="total", fix={"dataset.ignored": ["id", "total"]})
    number = IDENTIFIER.find("warning", "…", place="zip", fix={"dataset.ignored": ["id", "zip"]})
    error = TARGET_LEAK.find("error", "…")
    assert without_muted([leak, number, error], ["table.target_leak"]) == [number, error]
    assert without_muted([leak, number], ["table.target_leak:zip", "table.identifier:zip"]) == [leak]
    assert not is_named(TARGET_LEAK.find("ok", "…"), [""])
    assert merge_fixes([leak, number]) == {"dataset.ignored": ["id", "total", "zip"]}
    with pytest.raises(InputError, match=r"a: 1 and 2 are both proposed"):
        merge_fixes([TARGET_LEAK.find("info", "", fix={"a": 1}), TARGET_LEAK.find("info", "", fix={"a": 2})])


def test_a_fix_that_sets_what_is_set_already_is_none() -> None:
    settings: dict[str, Any] = {"seed": 1, "optimizer": {"lr": 0.1}, "dataset": {"ignored": ["id"]}}
    fixes: list[dict[str, Any]] = [
        {"optimizer.lr": 0.1, "seed": 1}, {"dataset.ignored": ["id"]}, {"optimizer.lr": 0.1, "seed": 2}, {"loop.epochs": 3}
    ]  # fmt: skip
    told = [TARGET_LEAK.find("warning", "…", fix=fix) for fix in fixes]
    assert [each.fix for each in without_idle_fix(told, settings)] == [{}, {}, *fixes[2:]]


def test_a_code_that_is_none_is_refused_in_the_settings() -> None:
    with pytest.raises(
        ConfigError, match=r"muted_findings: No finding has the code table\.leak; the nearest is table\."
    ):
        parse_config({"muted_findings": ["table.leak:a"]})
