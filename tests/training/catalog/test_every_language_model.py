"""Text, GPT and language modeling train, are saved, go on to the same bits, and are exported, in all their forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from tests.training.catalog.whole_way import content, export, train_and_resume
from tests.training.data.text_sample import write_text
from training.config import RunConfig, apply_overrides, parse_config
from training.config.sections.data.text import TextDataset
from training.data.texts.vocabulary import vocabulary_of
from training.engine.runs.run import resume_run, start_run
from training.errors import InputError, TrainingError
from training.export import export_checkpoint
from training.facts import DataFacts
from training.runs.records.manifest import read_manifest


def small(folder: Path, *overrides: str) -> RunConfig:
    """Four steps of 12 windows, with dropout."""
    data: dict[str, Any] = {
        "name": "text",
        "dataset": {"kind": "text", "path": str(write_text(folder)), "context": 16},
        "model": {"kind": "gpt", "layers": 2, "heads": 2, "width": 16, "dropout": 0.1},
        "objective": {"kind": "language_model"},
        "loop": {"batch_size": 12, "max_steps": 4},
        "precision": {"device": "cpu"},
        "checkpoints": {"every_steps": 2},
    }
    apply_overrides(data, overrides)
    return parse_config(data)


FORMS: dict[str, tuple[str, ...]] = {
    "characters": ("loop.ema_decay=0.9", "loop.accumulation=2"),
    "bytes, learned positions": ("dataset.vocabulary=bytes", "model.positions=learned", "model.tie_weights=false"),
    "byte pairs with Muon": ("dataset.vocabulary=bpe", "dataset.vocabulary_size=300", "optimizer.kind=muon"),
    "streamed, overlapping, fp16": ("loader.mode=streamed", "dataset.stride=4", "precision.compute=fp16"),
    "rms, bf16, recomputed": (
        "model.norm=rms",
        "model.activation=relu_squared",
        "precision.compute=bf16",
        "precision.activation_checkpointing=true",
        "optimizer.head_lr_factor=2.0",
        "optimizer.layer_decay=0.5",
    ),
    "biases, frozen at first": ("model.bias=true", "optimizer.freeze=stages", "optimizer.freeze_stages=2"),
}


@pytest.mark.parametrize("form", FORMS)
def test_trains_and_goes_on_to_the_same_bits(form: str, tmp_path: Path) -> None:
    config = small(tmp_path / "data", *FORMS[form])
    assert isinstance(config.dataset, TextDataset)
    last = train_and_resume(config, tmp_path, step=2)
    export(last, tmp_path / "exported")
    tokenizer = Tokenizer.from_file(str(tmp_path / "exported" / "tokenizer.json"))
    text = "the quick fox jumps.\n over ßß "
    manifest = read_manifest(last)
    facts = DataFacts.from_record(manifest.data.dump())
    vocabulary = vocabulary_of(facts)
    assert tokenizer.encode(text).ids == vocabulary.encode(text).tolist()
    seen = Path(config.dataset.path).read_text()[:100]
    assert tokenizer.decode(tokenizer.encode(seen).ids) == seen
    assert {"val/loss", "val/perplexity"} <= set(manifest.metrics)
    assert facts.vocabulary == config.dataset.vocabulary
    assert bool(facts.merges) == (config.dataset.vocabulary == "bpe")
    has_head = "head.weight" in load_file(last / "model.safetensors")
    assert has_head == ("learned" in form)  # elsewhere its weights are those of the embedding, and saved once


@pytest.mark.parametrize("to", ["torch-export", pytest.param("onnx", marks=pytest.mark.slow)])
def test_programs_answer_like_the_checkpoint(to: str, tmp_path: Path) -> None:
    record = start_run(small(tmp_path / "data"), tmp_path)
    result = export_checkpoint(Path(str(record.last_checkpoint)), to, tmp_path / "exported")
    assert result.max_difference < 1e-4


@pytest.mark.slow
def test_feeds_change_no_bit(tmp_path: Path) -> None:
    """Resident, streamed by a thread, and streamed by worker processes."""
    ends = []
    for number, feed in enumerate((("mode=resident",), ("mode=streamed",), ("mode=streamed", "workers=2"))):
        config = small(tmp_path / "data", "dataset.vocabulary=bpe", *(f"loader.{setting}" for setting in feed))
        record = start_run(config, tmp_path / str(number))
        ends.append(content(Path(str(record.last_checkpoint))))
    assert ends[0] == ends[1] == ends[2]


@pytest.mark.slow
def test_a_compiled_step_learns_the_same(tmp_path: Path) -> None:
    plain = start_run(small(tmp_path / "data", "model.dropout=0.0", "model.layers=1"), tmp_path)
    fast = small(tmp_path / "data", "model.dropout=0.0", "model.layers=1", "precision.compile=step")
    runs = plain, start_run(fast, tmp_path)
    first, second = (load_file(Path(str(run.last_checkpoint)) / "model.safetensors") for run in runs)
    for name, weights in first.items():
        torch.testing.assert_close(second[name], weights, atol=2e-4, rtol=0.0)


def test_a_text_that_was_moved_is_taken_from_its_new_place(tmp_path: Path) -> None:
    texts = [write_text(tmp_path / name) for name in ("train", "validation")]
    config = small(tmp_path / "data", f"dataset.path={texts[0]}", f"dataset.validation_path={texts[1]}")
    record = start_run(config, tmp_path)
    last = content(Path(str(record.last_checkpoint)))
    moved = [path.rename(tmp_path / f"{path.parent.name}.txt") for path in texts]
    middle = str(Path(record.folder) / "checkpoints" / "step-00000002")
    with pytest.raises(InputError, match="does not exist"):
        resume_run(middle, tmp_path)
    said = [f"dataset.path={moved[0]}", f"dataset.validation_path={moved[1]}"]
    resumed = resume_run(middle, tmp_path, said)
    assert (resumed.run, resumed.status) == (record.run, "completed")
    assert content(Path(str(resumed.last_checkpoint))) == last
    assert resume_run(middle, tmp_path).run == record.run  # said once
    moved[1].write_text(moved[1].read_text().upper())
    with pytest.raises(TrainingError, match="not the one this run was trained on"):
        resume_run(middle, tmp_path)
