"""What a person's own Dataset may not do, told in one sentence by file and sample."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.training.commands import Captured, json_line
from tests.training.data.own_files import COLLATE, PAIR, POINTS, RESULT, SMALL, batches, small_run, written
from training.cli import main
from training.config.files import dump_config
from training.data.preparation import prepare
from training.engine.runs.run import start_run
from training.errors import InputError, TrainingError

CPU = torch.device("cpu")
BAD: dict[str, tuple[str, str, str]] = {
    "iterable": ("return Small() if", "return Stream() if", "the train Dataset is an IterableDataset, whose samples have no number"),
    "no length": ("def __len__(self):", "def size(self):", "the train Dataset has no length; give it __len__"),
    "empty": ("return 12", "return 0", "the train Dataset is empty"),
    "no dataset": ("return Small() if", "return 7 if", "build returns a int for train, no torch Dataset"),
    "no split": ("def build(split: str):", "def build():\n    split = 'train'", r"line 14: build has no parameter split"),
    "fault": (PAIR, "if index == 5:\n            raise ValueError('no such file')\n        " + PAIR, r"line 12: sample 5 of train: ValueError: no such file\."),
    "odd shape": (PAIR, "return torch.ones(3 + (index == 7)), index % 2", "sample 7 of train has the shape 4, but the first has 3"),
    "no pair": (PAIR, "return torch.ones(3)", "sample 0 of train is a tensor of 3; return a pair"),
    "dict": (PAIR, "return {'x': 1}", "sample 0 of train is a dict; return a pair"),
    "not finite": (PAIR, "return torch.tensor([1.0, float('nan') if index == 3 else 1.0, 0.0]), index % 2", "sample 3 of train has an input with a number that is missing"),
    "class below 0": (PAIR, "return torch.ones(3), -(index == 4)", r"sample 4 of train is of class -1; classes are counted from 0"),
    "half a class": (PAIR, "return torch.ones(3), 0.5 if index == 4 else index % 2", r"sample 4 of train has 0\.5 as its target; a class is one whole number"),
    "own generator": (PAIR, "return torch.from_numpy(__import__('numpy').random.default_rng().random(3)), index % 2", "sample 0 of train is another one when it is asked for again"),
    "classes from 3": (PAIR, "return torch.ones(3), 3 + index % 2", "No sample belongs to class 0, 1, 2"),
    "one class": (PAIR, "return torch.ones(3), 0", "has one class only"),
    "text": (PAIR, "return 'words', 0", "sample 0 of train has a str as its input"),
    "faulty build": ("return Small() if split", "raise OSError('gone')\n    return Small() if split", r"line 15: cannot build the train Dataset: OSError: gone"),
    "faulty file": ("import torch\n", "import torch\n1 / 0\n", r"line 3: cannot be run: ZeroDivisionError"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_a_bad_file_is_one_sentence_and_nothing_begins(case: str, tmp_path: Path, capsys: Captured) -> None:
    old, new, sentence = BAD[case]
    text = SMALL.replace(old, new, 1)
    assert text != SMALL
    text = (
        text.replace(
            "class Small",
            "class Stream(torch.utils.data.IterableDataset):\n    def __iter__(self):\n        yield 1, 1\n\n\nclass Small",
        )
        if case == "iterable"
        else text
    )
    config = tmp_path / "run.toml"
    config.write_text(dump_config(small_run(written(tmp_path, text))), encoding="utf-8")
    assert main(["run", str(config), "--workspace", str(tmp_path / "ws"), "--json"]) == 2
    told = capsys.readouterr().err.strip().splitlines()[-1]
    assert "data.py" in told or case in ("one class", "classes from 3")
    with pytest.raises(InputError, match=sentence):
        prepare_run(config)
    assert not list((tmp_path / "ws").glob("runs/*/checkpoints/*"))


def prepare_run(config: Path) -> None:
    from training.config import load_config

    prepare(load_config(config), CPU).close()


def test_a_fault_while_training_names_the_sample_and_ends_the_run(tmp_path: Path) -> None:
    text = POINTS.replace("scaled = ", "if self.noise and torch.initial_seed() and index == 9 and SEEN.append(index) is None and len(SEEN) > 6:\n            raise KeyError('lost')\n        scaled = ").replace("class Points", "SEEN = []\n\n\nclass Points")  # fmt: skip
    record = start_run(small_run(written(tmp_path, text), loop={"batch_size": 16, "epochs": 20}), tmp_path / "runs")
    assert record.status == "failed"
    assert "data.py, line" in str(record.reason)
    assert "sample 9 of train: KeyError: 'lost'" in str(record.reason)


def test_a_length_that_changes_is_told(tmp_path: Path) -> None:
    text = SMALL.replace("return 12", "COUNT.append(1)\n        return 12 if len(COUNT) < 60 else 11").replace("class Small", "COUNT = []\n\n\nclass Small")  # fmt: skip
    with prepare(small_run(written(tmp_path, text)), CPU) as data, pytest.raises(TrainingError) as told:
        [batches(data, epoch) for epoch in range(100)]
    assert (
        "the train Dataset has a length of 11 now, but of 12 before; its length must not change" in told.value.message
    )


def test_random_samples_cannot_be_promised_to_be_the_same(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"dataset\.random_samples: sample 0 of train draws random numbers") as told:
        prepare(small_run(written(tmp_path, POINTS, random_samples=False)), CPU)
    assert told.value.fix == {"dataset.random_samples": True}
    calm = written(tmp_path, POINTS, random_samples=False, arguments={"noise": 0.0})
    with (
        prepare(small_run(calm), CPU) as kept,
        prepare(small_run(calm, loader={"mode": "streamed", "workers": 0}), CPU) as read,
    ):
        assert kept.report.batches.mode == "resident"
        assert all(map(torch.equal, batches(kept, 1), batches(read, 1)))


def test_nothing_runs_before_somebody_agreed(tmp_path: Path, capsys: Captured) -> None:
    text = SMALL + f"\nopen({str(tmp_path / 'trace')!r}, 'w').close()\n"
    (tmp_path / "data.py").write_text(text, encoding="utf-8")
    rest = '[model]\nkind = "mlp"\nhidden = [4]\n[loop]\nmax_steps = 1\nbatch_size = 4\n[schedule]\nkind = "constant"\n[precision]\ndevice = "cpu"\n'
    config = tmp_path / "run.toml"
    config.write_text(f'[dataset]\nkind = "user_dataset"\npath = "data.py"\n{rest}', encoding="utf-8")
    for command in ("check", "run"):
        assert main([command, str(config), "--workspace", str(tmp_path / "ws")]) == 2
        assert "dataset.trusted: needs your consent: read data.py" in capsys.readouterr().err
    assert not (tmp_path / "trace").exists()
    assert main(["run", str(config), "--workspace", str(tmp_path / "ws"), "--trust", "--json"]) == 0
    assert (tmp_path / "trace").exists()
    run = json_line(capsys)["folder"]
    (tmp_path / "data.py").write_text(text + "\n", encoding="utf-8")
    assert main(["run", str(config), "--workspace", str(tmp_path / "ws")]) == 2
    assert main(["resume", str(run), "--set", "loop.max_steps=3", "--workspace", str(tmp_path / "ws")]) == 0


def test_a_table_network_refuses_what_is_no_row(tmp_path: Path, capsys: Captured) -> None:
    text = SMALL.replace("torch.full((3,), float(index))", "torch.full((3, 4), float(index))")
    config = small_run(written(tmp_path, text), model={"kind": "tabular", "hidden": [4]})
    (tmp_path / "run.toml").write_text(dump_config(config), encoding="utf-8")
    assert main(["run", str(tmp_path / "run.toml"), "--workspace", str(tmp_path / "ws")]) == 2
    assert "model.kind: tabular takes rows of numbers, but samples are 3 x 4; choose mlp" in capsys.readouterr().err
    flat = small_run(written(tmp_path, text), loop={"batch_size": 4, "max_steps": 1})
    assert start_run(flat, tmp_path / "ws").status == "completed"


def test_batches_of_different_lengths_end_a_run_with_a_network_of_one_size_by_one_sentence(tmp_path: Path) -> None:
    record = start_run(small_run(written(tmp_path, COLLATE.replace("RESULT", RESULT))), tmp_path / "runs")
    assert record.status == "failed"
    assert str(record.reason).startswith(
        "model.kind: mlp takes samples of one size, but collate_fn made a batch of 5 x 3 and the first sample is 1 x 3; pad all to"
    )


def test_rows_of_numbers_have_one_length_even_where_a_collate_fn_pads_them(tmp_path: Path) -> None:
    text = COLLATE.replace("RESULT", RESULT).replace("torch.rand(1 + index % 5, 3)", "torch.rand(3 + index % 5)")
    with pytest.raises(
        InputError, match=r"collate_fn of sample \d+ of train makes samples of \d, but of the first 3; pad"
    ):
        prepare(small_run(written(tmp_path, text)), CPU)


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        ("inputs", "collate_fn of sample 0 of train makes no batch|makes .* of 1 samples|return|has a list"),
        (
            "pad_sequence(inputs), torch.tensor(targets)",
            r"collate_fn of .* makes \d+ inputs of \d+ samples; return one of each",
        ),
        ("None", r"collate_fn of sample 0 of train returns nothing; return \(inputs, targets\)"),
        ("1 / 0", r"data\.py, line 18: collate_fn of sample 0 of train: ZeroDivisionError"),
        (
            "pad_sequence(inputs, batch_first=True), torch.tensor(targets[:1])[0]",
            "makes no batch of targets of 1 samples",
        ),
    ],
)
def test_a_bad_collate_fn_is_one_sentence(result: str, sentence: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=sentence):
        prepare(small_run(written(tmp_path, COLLATE.replace("RESULT", result))), CPU)
