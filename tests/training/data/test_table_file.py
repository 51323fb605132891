"""What is a table and what is not, said in one sentence."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from training.config.sections.data.tables import TableDataset
from training.data.tables.table_file import UNNAMED, read_section, read_table, sort_of
from training.errors import InputError


def read(folder: Path, content: str | bytes, separator: str = "auto") -> pl.DataFrame:
    file = folder / "table [1].csv"  # a name that polars would take for a pattern
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_table(file, ("NA", "nan"), separator)


def test_columns_are_what_their_cells_are(tmp_path: Path) -> None:
    frame = read(
        tmp_path,
        'number,quoted,whole,text,yes,date,gaps,nothing\n1.5,"2",3,x,true,2020-01-31,NA,\n2.5,"4",5, y ,false,2020-02-01,7,NA\n',
    )
    assert {name: sort_of(frame[name]) for name in frame.columns} == {
        "number": "float",
        "quoted": "int",
        "whole": "int",
        "text": "string",
        "yes": "bool",
        "date": "date",
        "gaps": "int",
        "nothing": "empty",
    }
    assert frame["text"].to_list() == ["x", "y"]
    assert frame["gaps"].to_list() == [None, 7]
    assert frame["quoted"].to_list() == [2, 4]


def test_a_number_with_a_point_far_down_is_no_error(tmp_path: Path) -> None:
    frame = read(tmp_path, "a,b\n" + "1,2\n" * 3000 + "1.5,text\n")
    assert sort_of(frame["a"]) == "float"
    assert sort_of(frame["b"]) == "string"
    assert frame["a"][3000] == 1.5


@pytest.mark.parametrize(("name", "separator"), [("comma", ","), ("semicolon", ";"), ("tab", "\t"), ("pipe", "|")])
def test_the_separator_is_found(tmp_path: Path, name: str, separator: str) -> None:
    frame = read(tmp_path, f'"a{separator}x"{separator}b\n1{separator}2\n')
    assert frame.columns == [f"a{separator}x", "b"], name
    assert frame.rows() == [(1, 2)]


def test_decimal_commas_are_understood(tmp_path: Path) -> None:
    assert read(tmp_path, "a;b\n1,5;2\n2,25;3\n").rows() == [(1.5, 2), (2.25, 3)]


def test_quotes_line_breaks_marks_and_windows_lines(tmp_path: Path) -> None:
    frame = read(tmp_path, b'\xef\xbb\xbfa,b\r\n"x\r\ny",1\r\n"say ""so""",2\r\n')
    assert frame.columns == ["a", "b"]
    assert frame["b"].to_list() == [1, 2]
    assert frame["a"][1] == 'say "so"'


@pytest.mark.parametrize("above", ["\n", "\n\n", "\r\n\r\n", "\ufeff\n"])
def test_empty_lines_above_the_header_are_passed_over(tmp_path: Path, above: str) -> None:
    frame = read(tmp_path, f"{above}a;b\n1,5;2\n2,25;3\n")
    assert frame.columns == ["a", "b"]
    assert frame.rows() == [(1.5, 2), (2.25, 3)]


@pytest.mark.parametrize("letter", ["\u2028", "\x85", "\x0b"])
def test_a_name_may_hold_what_only_some_take_for_a_line_end(tmp_path: Path, letter: str) -> None:
    frame = read(tmp_path, f"a{letter}c,b\n1,2\n")
    assert frame.columns == [f"a{letter}c", "b"]
    assert frame.rows() == [(1, 2)]


def test_row_numbers_without_a_name_are_known_as_such(tmp_path: Path) -> None:
    assert read(tmp_path, ",b\n0,2\n1,3\n").columns == [UNNAMED, "b"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty; choose a file with a header row"),
        ("a,b\n", "has no rows; choose a file with samples"),
        ("a,b\n1,2\n3\n4,5\n", "line 3 .* has 1 values, but the header names 2 columns; mend that line"),
        ("a,b\n1,2\n3,4,5\n", "line 3 .* has 3 values, but the header names 2 columns; mend that line"),
        ("a,b,a\n1,2,3\n", "has two columns 'a'; rename one"),
        ("a,b,\n1,2,3\n", "column 3 .* has no name; write one"),
        ("1,2\n3,4\n", "holds numbers only; put a row of column names above it"),
        (
            "größe,b\nä,2\nö,3\n".encode() + b"\xe4,2\n",
            "is text in UTF-8 but for a damaged letter in line 4; mend it, or",
        ),
        ("größe,b\n1,2\n".encode("utf-16")[:-1], r"is no text in utf-16 \(byte 24\); choose another dataset.encoding"),
        (b"a,b\n\0\0\1\2\n", "is no text: it holds zero bytes; save it as CSV"),
        (b"\x89a,b\n\1\2\n", "is no text: it holds control characters; save it as CSV"),
        ("  \na,b\n1,2\n", "line 2 .* has 2 values, but the header names 1 columns; mend that line"),
        (b"a,b,y\r1,2,x\r3,4,y\r", "ends its lines with carriage returns alone; save it"),
        (b"a\rb,c\n1,2\n", "the first row of .* cannot be told apart into names"),
        (b"a,b\n" + b"1,2\n" * 400_000 + b"\0,2\n", "is damaged: column 'a' holds a zero byte in row 400,001; write"),
        (b"PK\x03\x04", "is a spreadsheet or an archive, not a table; save the sheet as CSV"),
        (b"\x1f\x8b\x08\x00", "is compressed; unpack it"),
        (b"PAR1 and no more", "cannot be read as Parquet"),
    ],
)
def test_what_is_no_table_is_refused_in_a_sentence(tmp_path: Path, content: str | bytes, sentence: str) -> None:
    with pytest.raises(InputError, match=f"dataset.path: .*{sentence}") as refused:
        read(tmp_path, content)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("encoding", "found"),
    [("utf-8-sig", "utf-8"), *((name, name) for name in ("utf-16", "utf-16-le", "utf-16-be", "cp1252", "latin-1"))],
)
def test_the_encoding_is_found(tmp_path: Path, encoding: str, found: str) -> None:
    odd = "\x81" if encoding == "latin-1" else "€" if encoding == "cp1252" else "ä"  # none in cp1252, none in Latin-1
    path = tmp_path / "t.csv"
    path.write_bytes(("größe;b\n" + "1;x\n" * 400_000 + f"2;{odd}\n").encode(encoding))
    frame, written = read_section(TableDataset(path=str(path)))
    assert written is not None
    assert written.encoding == found
    assert frame.columns == ["größe", "b"]
    assert frame.row(-1) == (2, odd)
    assert len(written.describe()) == (found != "utf-8")


@pytest.mark.parametrize(
    ("cells", "separator", "numbers", "told"),
    [
        (["1.234,5", "2,5", "1.234"], ";", [1234.5, 2.5, 1234.0], "1.234,5"),
        (["1 234,5", "2,5", "-"], ";", [1234.5, 2.5, None], "1 234,5"),
        (["1\u202f234", "2,5", "?"], "tab", [1234.0, 2.5, None], "1\u202f234,5"),
        (['"1,234"', '"12,345,678.5"', "7"], ",", [1234.0, 12345678.5, 7.0], "1,234.5"),
        (["1'234.5", "2.5", "n/a"], ",", [1234.5, 2.5, None], "1'234.5"),
        (['"0,25"', '"12,5"', "7"], ",", [0.25, 12.5, 7.0], "decimal commas"),
    ],
)
def test_the_way_numbers_are_written_is_found(
    tmp_path: Path, cells: list[str], separator: str, numbers: list[float | None], told: str
) -> None:
    mark = {"tab": "\t"}.get(separator, separator)
    (tmp_path / "t.csv").write_text("\n".join(["a" + mark + "b", *(f"{cell}{mark}x" for cell in cells)]))
    frame, written = read_section(TableDataset(path=str(tmp_path / "t.csv")))
    assert frame["a"].to_list() == numbers
    assert written is not None
    assert told in written.describe()[0]


def test_a_table_larger_than_the_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from training.data.tables import table_file
    from training.system.host_memory import HostMemory

    monkeypatch.setattr(table_file, "host_memory", lambda: HostMemory(1000, 10, "this computer has"))
    with pytest.raises(InputError, match="needs about 88 bytes of memory, but 10 bytes are free"):
        read(tmp_path, "a,b\n" + "1,2\n" * 10)


def test_parquet_has_the_same_few_types(tmp_path: Path) -> None:
    pl.DataFrame(
        {
            "a": pl.Series([1, 2], dtype=pl.UInt8),
            "b": pl.Series(["x", "y"], dtype=pl.Categorical),
            "c": pl.Series([1.5, float("nan")], dtype=pl.Float32),
            "d": pl.Series(["2020-01-01", "2020-01-02"]).str.to_date(),
            "e": [[1], [2]],
        }
    ).write_parquet(tmp_path / "t.parquet")
    frame = read_table(tmp_path / "t.parquet", (), "auto")
    assert [sort_of(frame[name]) for name in frame.columns] == [
        "int", "string", "float", "date", "other",
    ]  # fmt: skip
    assert frame["c"].to_list() == [1.5, None]
