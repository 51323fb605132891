"""Text becomes windows of tokens; nothing of the validation part shows in training."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.cases import first_of
from tests.reports import inspect
from tests.training.data.text_sample import digest, opened, sentences, write_text
from training.config import RunConfig
from training.data.inspect import input_facts
from training.data.preparation import prepare
from training.data.sources.text import Text
from training.data.texts import text_files
from training.data.texts.vocabulary import vocabulary_of
from training.errors import InputError
from training.facts import DataFacts
from training.system.token_text import UNKNOWN

KINDS: list[dict[str, Any]] = [
    {"vocabulary": "characters"},
    {"vocabulary": "bytes"},
    {"vocabulary": "bpe", "vocabulary_size": 300},
]


def facts(source: Text) -> DataFacts:
    return DataFacts(
        "tokens", source.shape, "tokens", source.classes, vocabulary=source.vocabulary, merges=source.merges
    )


def decoded(source: Text, part: str) -> list[str]:
    """The windows of ``part`` as text."""
    vocabulary = vocabulary_of(facts(source))
    return [vocabulary.decode(window.tolist()) for window in source.read(source.parts[part])]


def config(path: Path, **changes: Any) -> RunConfig:
    data: dict[str, Any] = {
        "dataset": {"kind": "text", "path": str(path), "context": 16, **changes},
        "model": {"kind": "gpt"},
        "objective": {"kind": "language_model"},
        "loop": {"batch_size": 8},
    }
    return RunConfig.model_validate(data)


@pytest.mark.parametrize("settings", KINDS, ids=lambda settings: settings["vocabulary"])
def test_windows_are_the_text_in_order(settings: dict[str, Any], tmp_path: Path) -> None:
    path = write_text(tmp_path)
    source = opened(path, **settings)
    vocabulary = vocabulary_of(facts(source))
    text = path.read_text(encoding="utf-8")
    cut = len(text) - int(0.1 * len(text) + 0.5)
    for part, expected in (("train", text[:cut]), ("validation", text[cut:])):
        tokens = vocabulary.encode(expected)
        windows = source.read(source.parts[part])
        assert len(windows) == (len(tokens) - 1) // 16
        for number, window in enumerate(windows):
            assert window.tolist() == tokens[16 * number : 16 * number + 17].tolist()
        assert vocabulary.decode(tokens.tolist()) == expected
        assert source.token_counts[part] == len(tokens)
    assert source.targets.shape == (len(source.parts["train"]) + len(source.parts["validation"]), 0)
    assert source.name(1) == "tokens 16 to 32"
    assert source.name(len(source.parts["train"]) + 2) == "validation tokens 32 to 48"


def test_each_token_is_predicted_once_and_no_window_crosses(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("a" * 900 + "b" * 100)
    source = opened(path, context=10)
    assert set("".join(decoded(source, "train"))) == {"a"}
    assert decoded(source, "validation") == ["\ufffd" * 11] * 9
    assert len(decoded(source, "train")) == 89
    assert "100 characters of the validation text never come in the training text ('b')" in "".join(source.notes)


def test_stride_overlaps_training_windows_only(tmp_path: Path) -> None:
    path = write_text(tmp_path)
    plain, dense = opened(path), opened(path, stride=4)
    assert decoded(plain, "validation") == decoded(dense, "validation")
    windows = decoded(dense, "train")
    assert windows[0][4:] == windows[1][:-4]
    assert windows[::4] == decoded(plain, "train")[: len(windows[::4])]
    assert len(windows) == (dense.token_counts["train"] - 17) // 4 + 1


@pytest.mark.parametrize("settings", KINDS, ids=lambda settings: settings["vocabulary"])
def test_vocabulary_comes_from_the_training_part(settings: dict[str, Any], tmp_path: Path) -> None:
    path = write_text(tmp_path)
    before = opened(path, **settings)
    text = path.read_text()
    path.write_text(text[:-40] + "ß ж quizzical zzzzzzzzzz xyxyxyxyxy".ljust(40))
    after = opened(path, **settings)
    assert (after.classes, after.merges) == (before.classes, before.merges)
    train = before.parts["train"]
    assert torch.equal(after.read(train), before.read(train))
    assert after.fingerprint != before.fingerprint
    if settings["vocabulary"] == "characters":
        assert after.classes[0] == UNKNOWN
        assert "ß" not in after.classes
        assert int((after.read(after.parts["validation"])[:, 1:] == 0).sum()) == 2
        assert "2 characters of the validation text never come in the training text ('ß', 'ж')" in "".join(after.notes)
    # The same characters planted in the training part do change it.
    path.write_text("ß ж quizzical zzzzzzzzzz xyxyxyxyxy zzzzzzzz" + text)
    planted = opened(path, **settings)
    assert settings["vocabulary"] == "bytes" or planted.classes != before.classes


def test_validation_path_judges_and_all_of_the_text_trains(tmp_path: Path) -> None:
    path = write_text(tmp_path)
    judged = tmp_path / "judged.txt"
    judged.write_text(sentences(20, start=900) + "é")
    source = opened(path, validation_path=str(judged))
    text = path.read_text()
    assert source.token_counts == {"train": len(text), "validation": len(judged.read_text())}
    assert decoded(source, "validation")[0] == judged.read_text()[:17]
    assert "é" not in source.classes
    fingerprint = source.fingerprint
    judged.write_text(sentences(20, start=901))
    assert opened(path, validation_path=str(judged)).fingerprint != fingerprint


def test_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    (folder / "part").mkdir(parents=True)
    (folder / ".hidden").mkdir()
    (folder / "b.TXT").write_text(sentences(30, 30).rstrip("\n"))
    (folder / "a.txt").write_text(sentences(30))
    (folder / "part" / "c.txt").write_text(sentences(30, 60))
    (folder / "empty.txt").write_text("")
    (folder / "notes.md").write_text("not this one")
    (folder / ".hidden" / "d.txt").write_text("nor this")
    source = opened(folder)
    whole = tmp_path / "whole.txt"
    whole.write_text(sentences(90))
    assert decoded(source, "train") == decoded(opened(whole), "train")
    assert [(item.path, item.reason) for item in source.skipped] == [("empty.txt", "empty file")]
    assert source.notes[0] == "3 files are read in the order of their names."


@pytest.mark.parametrize("kind", ["utf-16", "latin-1", "utf-8"])
def test_encodings_give_the_same_tokens(kind: str, tmp_path: Path) -> None:
    path, other = tmp_path / "utf-8.txt", tmp_path / "other.txt"
    text = sentences(60).replace("oak", "Öäk")
    path.write_text(text, encoding="utf-8")
    other.write_text(text, encoding="utf-8-sig" if kind == "utf-8" else kind)
    assert torch.equal(opened(other, encoding=kind).read_all(), opened(path).read_all())


def test_pieces_give_the_tokens_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However the file is cut while it is read: in the middle of a character, of a word or of blank lines."""
    path = tmp_path / "text.txt"
    path.write_text(sentences(40).replace("fox", "f\u00f6x").replace(".\n", ".\n\n  ").replace("cat", "cat\n's 語"))
    whole = {settings["vocabulary"]: opened(path, **settings) for settings in KINDS}
    for size in (1, 7, 50):
        monkeypatch.setattr(text_files, "_READ", size)
        for settings in KINDS:
            source = opened(path, **settings)
            assert source.classes == whole[settings["vocabulary"]].classes
            assert source.fingerprint == whole[settings["vocabulary"]].fingerprint
            assert torch.equal(source.read_all(), opened(path, **settings).read_all())
    monkeypatch.undo()
    for settings in KINDS:
        monkeypatch.setattr(text_files, "_READ", 7)
        cut = opened(path, **settings).read_all()
        monkeypatch.undo()
        assert torch.equal(cut, whole[settings["vocabulary"]].read_all())


def test_faults_are_told_in_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"

    def refused(content: bytes, **settings: Any) -> str:
        path.write_bytes(content)
        with pytest.raises(InputError) as caught:
            opened(path, **settings)
        return str(caught.value)

    latin = refused(b"plain words, then caf\xe9 and more " * 50)
    assert "text.txt is no utf-8 text: byte 0xE9 at place 21 does not fit." in latin
    assert "choose its encoding (dataset.encoding), for example latin-1" in latin
    assert "for example utf-16" in refused("wide".encode("utf-16"))
    unmarked = refused("wide".encode("utf-16-le"), encoding="utf-16")
    assert "text.txt does not begin as utf-16 text does. Save it as UTF-8, or choose its encoding" in unmarked
    assert "text.txt is no utf-8 text" in refused("cut off: é".encode()[:-1])
    assert "holds zero bytes, so it is no utf-8 text" in refused(b"MZ\x00\x00\x01")
    short = refused(b"twelve chars")
    assert "the training text has 11 tokens, but a window needs 17: dataset.context and the one" in short
    judged = refused(sentences(4).encode())
    assert "dataset.validation_fraction: the validation text has" in judged
    assert "raise the fraction" in judged
    assert "the training text has 0 tokens" in refused(b"")
    path.write_text(sentences(50))
    other = tmp_path / "other.txt"
    other.write_text("short")
    with pytest.raises(InputError, match=r"dataset\.validation_path: the validation text has 5 tokens"):
        opened(path, validation_path=str(other))
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"empty holds no \.txt file with text"):
        opened(tmp_path / "empty")
    with pytest.raises(InputError, match="is no file or folder"):
        opened(tmp_path / "gone.txt")


def test_a_place_in_a_large_file_is_told_exactly(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "_READ", 5)
    path = tmp_path / "text.txt"
    path.write_bytes("öäü".encode() * 6 + b"ok\xff")
    with pytest.raises(InputError, match="byte 0xFF at place 38"):
        opened(path)


def test_a_file_that_changes_meanwhile_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_text(tmp_path)
    real = text_files.TextFiles.pieces
    passes = 0

    def pieces(files: text_files.TextFiles, read: Any) -> Any:
        nonlocal passes
        passes += 1
        if passes == 2:
            path.write_text(path.read_text().replace("fox", "cat"))
        return real(files, read)

    monkeypatch.setattr(text_files.TextFiles, "pieces", pieces)
    with pytest.raises(InputError, match="changed while it was read"):
        opened(path)


def test_small_numbers_take_small_room(tmp_path: Path) -> None:
    path = write_text(tmp_path, lines=2000)
    assert opened(path).read_all().dtype == torch.uint8
    words = opened(path, vocabulary="bpe", vocabulary_size=400)
    assert len(words.classes) > 256
    assert words.read_all().dtype == torch.int16


def test_fewer_pairs_than_asked_for_is_told(tmp_path: Path) -> None:
    source = opened(write_text(tmp_path), vocabulary="bpe", vocabulary_size=100_000)
    assert "fewer than the 100,000 asked for" in "".join(source.notes)
    assert 256 < len(source.classes) < 1000


@pytest.mark.parametrize("settings", first_of(KINDS), ids=lambda settings: settings["vocabulary"])
def test_streamed_by_any_workers_is_resident_to_the_bit(settings: dict[str, Any], tmp_path: Path) -> None:
    path = write_text(tmp_path, lines=60)

    def batches(**loader: Any) -> list[torch.Tensor]:
        wanted = config(path, **settings).model_copy(update={"loader": RunConfig().loader.model_copy(update=loader)})
        with prepare(wanted, torch.device("cpu")) as data:
            assert data.facts == input_facts(wanted).__class__(
                **{**vars(input_facts(wanted)), "counts": data.facts.counts}
            )
            found = [*data.evaluation_batches("validation")]
            found += [batch for window in data.steps(2) for batch in window]
            return [tensor for batch in found for tensor in (batch.inputs, batch.targets, batch.indices)]

    resident = batches(mode="resident")
    assert all(
        torch.equal(inputs[:, 1:], targets[:, :-1])
        for inputs, targets in zip(resident[::3], resident[1::3], strict=True)
    )
    assert resident[0].dtype == torch.int64
    assert resident[0].shape[1] == 16
    workers = (0, 2) if settings["vocabulary"] == "characters" else (0,)
    for count in workers:
        streamed = batches(mode="streamed", workers=count)
        assert len(streamed) == len(resident)
        assert all(torch.equal(one, other) for one, other in zip(streamed, resident, strict=True))


def test_counts_are_those_of_the_training_tokens(tmp_path: Path) -> None:
    path = write_text(tmp_path)
    with prepare(config(path), torch.device("cpu")) as data:
        source = opened(path)
        predicted = source.read(source.parts["train"])[:, 1:].reshape(-1).long()
        assert data.facts.counts == tuple(torch.bincount(predicted, minlength=len(source.classes)).tolist())
        assert data.facts.counts[0] == 0
        assert data.report.notes[-1].startswith("The last ")
        assert data.report.batches.bytes == len(source.targets) * 17


def test_workers_get_the_tokens_without_a_copy_in_the_message(tmp_path: Path) -> None:
    source = opened(write_text(tmp_path, lines=20_000))
    assert len(ForkingPickler.dumps(source)) < len(pickle.dumps(source)) / 10


def test_preview_reads_the_beginning_and_estimates_the_rest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_text(tmp_path, lines=4000)
    whole = opened(path)
    monkeypatch.setattr("training.data.sources.text._PREVIEW", 1 << 15)
    preview = opened(path, check=False)
    assert preview.notes[0].startswith("This preview reads the first")
    assert preview.fingerprint == ""
    for part in ("train", "validation"):
        assert len(preview.parts[part]) == pytest.approx(len(whole.parts[part]), rel=0.01)
        assert preview.token_counts[part] == pytest.approx(whole.token_counts[part], rel=0.01)
    assert torch.equal(preview.read(torch.arange(10)), whole.read(torch.arange(10)))
    assert all(0 < len(preview.find_readable(part)) < len(part) for part in preview.parts.values())
    page = inspect(config(path))["first_page"]
    assert len(page["texts"]) == 3
    assert page["more"]  # than were read
    assert page["total"] == len(preview.find_readable(preview.parts["train"]))


@pytest.mark.parametrize("settings", KINDS, ids=lambda settings: settings["vocabulary"])
def test_preview_shows_windows_token_by_token(settings: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text(sentences(100).replace("fox", "föx"))
    report = inspect(config(path, **settings))
    source = opened(path, **settings)
    assert report["layout"] == report["target"] == "tokens"
    assert report["token_counts"] == source.token_counts
    assert len(report["classes"]) == len(source.classes)
    windows = decoded(source, "train")
    for text in report["first_page"]["texts"]:
        assert len(text["tokens"]) == 17
        assert "<" in "".join(text["tokens"]) or "".join(text["tokens"]) in windows
    predicted = source.read(source.parts["train"])[:, 1:].reshape(-1).long()
    first = report["frequent"][0]
    assert first["share"] == float(torch.bincount(predicted).max()) / len(predicted)
    if settings["vocabulary"] == "characters":
        assert first["name"] == " "
    assert sum(row["share"] for row in report["frequent"]) <= 1.0
    assert len(report["frequent"]) == 10


def test_facts_survive_as_json(tmp_path: Path) -> None:
    source = opened(write_text(tmp_path), vocabulary="bpe", vocabulary_size=300)
    kept = DataFacts.from_record(facts(source).record())
    assert kept == facts(source)
    assert (
        vocabulary_of(kept).encode("the lazy fox").tolist()
        == vocabulary_of(facts(source)).encode("the lazy fox").tolist()
    )


SCRIPT = """
import sys
from pathlib import Path
from tests.training.data.text_sample import digest
print(digest(Path(sys.argv[1])))
"""


@pytest.mark.slow
def test_byte_pairs_are_the_same_on_any_number_of_threads(tmp_path: Path) -> None:
    path = write_text(tmp_path, lines=3000)
    found = {digest(path)}
    for seed, changes in enumerate(({"RAYON_NUM_THREADS": "1"}, {"RAYON_NUM_THREADS": "7"})):
        environment = {**os.environ, "PYTHONHASHSEED": str(seed), **changes}
        ended = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(path)], env=environment, capture_output=True, text=True, check=True
        )
        found.add(ended.stdout.strip())
    assert len(found) == 1
