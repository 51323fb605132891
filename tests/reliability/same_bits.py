"""Train the same runs with another checkout and with this one, side by side, and compare their bits.

    python -m tests.reliability.same_bits OTHER [--only WORDS] [--jobs 2]

OTHER is a folder with another state of this project (``git worktree add OTHER COMMIT``); both work with this environment's
libraries, on this machine, in processes that train one run after another. A run is the same when its series and its last
weights, averaged ones too, are; whether what it would resume with is the same as well is told, and counts for nothing: its form
may change. Ends with exit code 1 where a run differs. What the runs are is decided here, for both.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import chain
from pathlib import Path

import tomlkit

from tests.training.catalog.task_samples import small
from tests.training.tiny import tiny, tiny_images, write_idx
from training.catalog import OBJECTIVES, entries
from training.config import RunConfig
from training.config.files import config_data
from training.engine.runs.run import start_run

HERE = Path(__file__).resolve().parents[2]
WORKER = """
import contextlib, hashlib, io, json, sys
from pathlib import Path
import training
from training.cli import main

assert Path(training.__file__).parents[1] == Path(sys.argv[1]), training.__file__

for line in sys.stdin:
    file, workspace = line.rstrip("\\n").split("\\t")
    said, told = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(told):
        code = main(["run", file, "--workspace", workspace, "--json"])
    found = {"code": code, "told": told.getvalue()[-300:]}
    if code == 0:
        record = json.loads(said.getvalue().splitlines()[-1])
        last = Path(record["last_checkpoint"])
        files = {"series": last.parents[1] / "series.bin", "weights": last / "model.safetensors"}
        files |= {"average": last / "ema.safetensors", "state": last / "state.pt"}
        found |= {name: hashlib.sha256(path.read_bytes()).hexdigest() for name, path in files.items() if path.exists()}
        found["steps"] = record["step"]
    print(json.dumps(found), flush=True)
"""
STREAMED = ("loader.mode=streamed", "loader.workers=1")
PICTURES = {
    "flip, crop, rotation": (),
    "TrivialAugment": ("dataset.auto_augment=trivial_augment_wide",),
    "RandAugment": ("dataset.auto_augment=rand_augment",),
    "resized crop, erasing": ("dataset.resized_crop_scale=0.5", "dataset.erasing=0.5"),
    "jitter": ("dataset.brightness=0.3", "dataset.contrast=0.3", "dataset.saturation=0.3"),
    "whitened": ("model={kind='whitened_cnn', channels=[4, 4, 8]}",),
    "mixup": ("dataset.mixup_alpha=0.2",),
    "cutmix": ("dataset.cutmix_alpha=1.0",),
    "streamed": STREAMED,
    "bf16": ("precision.compute=bf16",),
    "fp16, clipped by value": ("precision.compute=fp16", "loop.clip_value=0.01"),
    "compiled": ("precision.compile=step",),
}
POINTS = {
    "accumulation": ("loop.accumulation=3",),
    "accumulation, ema": ("loop.accumulation=3", "loop.ema_decay=0.9"),
    "swa": ("loop.swa_start=0.5",),
    "often clipped": ("loop.clip_norm=0.05",),
    "never clipped": ("loop.clip_norm=none",),
    "accumulation, fp16, ema": ("loop.accumulation=3", "precision.compute=fp16", "loop.ema_decay=0.9"),
    "early stopping": ("loop.early_stopping_patience=1",),
    "compiled": ("precision.compile=step",),
    "rates by depth": ("optimizer.layer_decay=0.5", "optimizer.head_lr_factor=3.0"),
}
SHORTER = {
    "cosine_restarts": ("schedule.t_0=8",),
    "step": ("schedule.step_size=8",),
    "multi_step": ("schedule.milestones=[8, 16]",),
}
"""What fits runs of 24 steps, where the default of a file is a thousand."""


def make_runs(place: Path) -> dict[str, RunConfig]:
    """Small runs, by name, that together go through every optimizer, schedule and objective, and every part of a step."""
    runs = {f"optimizer {row.kind}": tiny(f"optimizer.kind={row.kind}") for row in entries("optimizer")}
    runs |= {
        f"schedule {row.kind}": tiny(
            f"schedule.kind={row.kind}", *SHORTER.get(row.kind, ()), "checkpoints.monitor=val/loss"
        )
        for row in entries("schedule")
    }
    runs |= {f"points, {name}": tiny(*settings) for name, settings in POINTS.items()}
    images = write_idx(place / "images")
    runs |= {f"images, {name}": tiny_images(images, *settings) for name, settings in PICTURES.items()}
    larger = start_run(small("classification", place / "teacher", "model.hidden=[32, 32]"), place / "teacher")
    teacher = Path(larger.folder)
    kinds = [
        row.kind for row in OBJECTIVES if row.kind != "user_loss"
    ]  # a file of a person's own: `test_own_loss` has it
    runs |= {f"objective {kind}": small(kind, place / kind, teacher=teacher) for kind in kinds}
    return runs


def read_settings(checkout: Path) -> dict[str, set[str]]:
    """The settings that the code in ``checkout`` knows, by the class of their section."""
    command = [sys.executable, "-m", "training", "schema"]
    environ = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}
    done = subprocess.run(command, env=environ, cwd=checkout, stdout=subprocess.PIPE, check=True)
    return {name: set(section.get("properties", ())) for name, section in json.loads(done.stdout)["$defs"].items()}


def save_for(config: RunConfig, known: Mapping[str, set[str]], path: Path) -> None:
    """Write ``config`` without settings that are not ``known`` and stand at their default: they came later, and change nothing."""
    data = config_data(config)
    for name, values in data.items():
        section = getattr(config, name)
        if isinstance(values, dict) and (settings := known.get(type(section).__name__)):
            unset = {each for each in values if each not in settings and each not in section.model_fields_set}
            data[name] = {each: value for each, value in values.items() if each not in unset}
    path.write_text(tomlkit.dumps(data), encoding="utf-8")


def train(checkout: Path, files: Mapping[str, Path], workspace: Path) -> dict[str, dict[str, object]]:
    """What each of the runs in ``files`` came to when the code in ``checkout`` trained it, one after the other."""
    environ = {**os.environ, "PYTHONPATH": str(checkout), "PYTHONSAFEPATH": "1"}
    lines = "".join(f"{file}\t{workspace / str(number)}\n" for number, file in enumerate(files.values()))
    done = subprocess.run(
        [sys.executable, "-c", WORKER, str(checkout)],
        input=lines,
        text=True,
        env=environ,
        cwd=workspace,
        stdout=subprocess.PIPE,
        check=True,
    )
    return dict(zip(files, map(json.loads, done.stdout.splitlines()), strict=True))


def compare(one: Mapping[str, object], other: Mapping[str, object]) -> str:
    """ "" where both are the same; else in what they differ."""
    if one["code"] or other["code"]:
        return f"exit codes {one['code']} and {other['code']}: {other['told'] if other['code'] else one['told']}"
    return ", ".join(name for name in ("steps", "series", "weights", "average") if one.get(name) != other.get(name))


def main(argv: Sequence[str]) -> int:
    """Returns 0 when every run is the same with both."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.reliability.same_bits", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("other", type=Path, metavar="OTHER")
    parser.add_argument("--only", default="", metavar="WORDS", help="runs whose name holds them")
    parser.add_argument("--jobs", type=int, default=2, help="processes of each checkout")
    options = parser.parse_args(argv)
    other = options.other.resolve()
    if not (other / "training" / "__init__.py").is_file():
        parser.error(f"{options.other} holds no checkout of this project")
    differing = 0
    with tempfile.TemporaryDirectory(prefix="same-bits-") as folder, ThreadPoolExecutor(2 * options.jobs) as pool:
        place, found, known = Path(folder), [], read_settings(other)
        for number, (name, config) in enumerate(make_runs(place).items()):
            if options.only in name:
                save_for(config, known, place / f"{number}.toml")
                found.append((name, place / f"{number}.toml"))
        if not found:
            parser.error(f"no run is called {options.only}")
        answers: list[list[Future[dict[str, dict[str, object]]]]] = []
        for checkout in (other, HERE):
            parts = []
            for job in range(options.jobs):
                workspace = place / f"{len(answers)}-{job}"
                workspace.mkdir()
                parts.append(pool.submit(train, checkout, dict(found[job :: options.jobs]), workspace))
            answers.append(parts)
        before, after = (dict(chain.from_iterable(part.result().items() for part in parts)) for parts in answers)
        for name, _ in found:
            difference = compare(before[name], after[name])
            differing += bool(difference)
            state = "" if before[name].get("state") == after[name].get("state") else " (what it resumes with differs)"
            print(
                f"{'DIFFERS: ' + difference if difference else 'same'}{state}  {name}, {after[name].get('steps')} steps"
            )
    print(f"{len(found) - differing} of {len(found)} runs are the same to the bit.")
    return int(differing > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
