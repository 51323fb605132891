"""On which systems a package is needed follows from who asks for it."""

from __future__ import annotations

import pytest

pytest.importorskip("packaging", exc_type=ImportError)

from training.requirements.markers import find_markers
from training.system.installed import Package
from training.system.pip_settings import PipSettings, parse_pip_settings

HERE = 'sys_platform != "nowhere"'
HAPPENS = 'platform_machine != "none"'


@pytest.mark.parametrize(
    ("asked", "marked"),
    [
        ({"a": [f"b; {HERE}"], "b": ["c"], "c": []}, {"b": HERE, "c": HERE}),
        ({"a": [f"b; {HERE}"], "b": [f"c; {HAPPENS}"], "c": []}, {"b": HERE, "c": f"({HERE}) and ({HAPPENS})"}),
        ({"a": [f"b; {HERE}", f"c; {HAPPENS}"], "b": ["c"], "c": []}, {"b": HERE, "c": f"({HAPPENS}) or ({HERE})"}),
        ({"a": [f"b; {HERE}", "b"], "b": []}, {}),
        ({"a": [f"b; {HERE}"], "b": [], "d": ["b"]}, {}),
        ({"a": ['b; sys_platform == "nowhere"'], "b": []}, {}),  # not asked for here: somebody wanted it
        ({"a": ['b; python_version > "3"'], "b": []}, {}),
        (
            {"a": [f"b[x]; {HERE}"], "b": ['c; extra == "x"', 'd; extra == "y"'], "c": [], "d": []},
            {"b": HERE, "c": HERE},
        ),
        ({"a": [f"b; {HERE}"], "b": ["c"], "c": ["b"]}, {"b": HERE, "c": HERE}),
        ({"b": ["c"], "c": ["b", "what is this?"]}, {}),
        ({"a": [f"B_b; {HERE}"], "b-b": []}, {"b-b": HERE}),
    ],
)
def test_a_package_is_marked_where_all_who_need_it_are(asked: dict[str, list[str]], marked: dict[str, str]) -> None:
    packages = [Package(name, "1", "index") for name in asked]
    assert find_markers(packages, lambda package: asked[package.name]) == marked


def test_variables_outdo_files_as_they_do_for_pip() -> None:
    lines = [
        "global.index-url='https://one.example/simple'",
        "install.index-url='https://two.example/simple'",
        "global.extra-index-url='\\nfile:///a\\nfile:///b'",
        ":env:.find-links='/wheels'",
        "global.cert='/cert.pem'",
        "global.constraint='/oldest.txt'",
        "no setting",
    ]
    indexes = ("https://two.example/simple", "file:///a", "file:///b")
    wanted = PipSettings(indexes, ("/wheels",), "/cert.pem", ("/oldest.txt",))
    assert parse_pip_settings(lines) == wanted
    assert parse_pip_settings([*lines, ":env:.index-url='https://three.example'"]).indexes[0] == "https://three.example"
    assert parse_pip_settings([*lines, ":env:.no-index='1'"]).indexes == ()
    assert parse_pip_settings([]).indexes == ("https://pypi.org/simple",)


def test_uv_is_told_what_pip_is_told() -> None:
    assert PipSettings().list_uv_options() == []
    assert PipSettings((), ("/a", "/b")).list_uv_options() == ["--no-index", "--find-links", "/a", "--find-links", "/b"]
    settings = PipSettings(("https://one.example", "file:///two"), constraints=("/newest.txt",))
    index = [
        "--default-index",
        "https://one.example",
        "--index-strategy",
        "unsafe-best-match",
        "--index",
        "file:///two",
    ]
    assert settings.list_uv_options() == [*index, "--constraint", "/newest.txt"]
