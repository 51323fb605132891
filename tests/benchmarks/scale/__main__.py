"""What grows with steps, runs, classes and files: measured, compared with ten times fewer, drawn.

    python -m tests.benchmarks.scale [--steps 1000000] [--cnn-steps 20000] [--runs 10000] [--classes 10000]
        [--files 1000000] [--rounds 5] [--out FOLDER]

A million steps take about seven minutes on two quiet cores and their comparisons two, twenty thousand of a CNN four, ten
thousand runs and ten thousand classes about three each, a million files four. 0 leaves a part out. Each part is a process of its own, so that
memory is its own. Into FOLDER (by default ``scale`` in the system's temporary folder): scale.md, scale.json, steps.png and
cnn.png (the courses of the long runs) and an image for each other part.

The long run's figures come from its own telemetry: its first thousand steps are warm-up and left out; "last / first" is
the median of the last ten thousands over that of the first ten, of time and of the engine's processor time, which other
programs on the machine disturb less. Beside it the last two thousand steps are done again after a resume, in turns with
those of a run of four thousand steps. Times of the other parts are processor time, of all threads.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path
from statistics import median

from tests.benchmarks.scale import classes, files, runs, steps
from tests.benchmarks.scale.probe import Measurement

Part = Callable[[int, Path], list[Measurement]]


def apart(part: Part, count: int, place: Path) -> list[Measurement]:
    """Take figures in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(part, count, place).result()


def at_each_size(parts: tuple[Part, ...], most: int, place: Path) -> list[Measurement]:
    """``parts`` one after the other in one folder, for a hundredth, a tenth and all of ``most``."""
    figures: list[Measurement] = []
    for count in (most // 100, most // 10, most):
        folder = place / f"{parts[0].__module__.rpartition('.')[2]}-{count}"
        folder.mkdir(parents=True)
        for part in parts:
            figures += apart(part, count, folder)
            print(f"  {part.__module__.rpartition('.')[2]}.{part.__name__} at {count:,}", flush=True)
    return figures


def long_run(count: int, rounds: int, place: Path, out: Path) -> tuple[list[Measurement], list[str]]:
    """Train ``count`` steps, compare with few; draws the course."""
    from tests.benchmarks.scale.image import draw_course

    workspace = place / "steps"
    long, short = (steps.train(steps.tiny_run(number), workspace) for number in (count, steps.SHORT))
    course = steps.course(long)
    (out / "steps.json").write_text(json.dumps(asdict(course)))
    draw_course(course, out / "steps.png")
    figures, ratios = steps.side_by_side(long, short, rounds)
    return figures, [
        f"{count:,} steps, last / first thousand: time {course.last_to_first(course.milliseconds):.3f}, "
        f"processor time {course.last_to_first(course.processor):.3f} (bar: 1.05)",
        f"the quickest tenth of the last quarter / of the first: time {course.undisturbed(course.milliseconds):.3f}, "
        f"processor time {course.undisturbed(course.processor):.3f}",
        f"after a resume, last 2,000 of {count:,} / of {steps.SHORT:,}: {median(ratios):.3f} "
        f"(rounds: {', '.join(f'{ratio:.2f}' for ratio in ratios)})",
        f"resident memory grew by {course.memory[-1] - course.memory[0]:.1f} MB from {course.memory[0]:,.0f} MB (bar: 50)",
    ]


def long_cnn(count: int, place: Path, out: Path) -> list[str]:
    """Train a CNN for ``count`` steps; draws the course."""
    from tests.benchmarks.scale.image import draw_course

    course = steps.course(steps.train(steps.cnn_run(count), place / "cnn"), steps.PICTURES_EPOCH)
    (out / "cnn.json").write_text(json.dumps(asdict(course)))
    draw_course(course, out / "cnn.png")
    settled = course.memory[len(course.memory) // 10]
    return [
        f"{count:,} steps of a CNN, last / first: time {course.last_to_first(course.milliseconds):.3f}, "
        f"processor time {course.last_to_first(course.processor):.3f} (bar: 1.05)",
        f"its resident memory grew by {course.memory[-1] - course.memory[0]:.1f} MB from {course.memory[0]:,.0f} MB (bar: 50), "
        f"by {course.memory[-1] - settled:.1f} MB after the first tenth; at most {max(course.memory):,.0f} MB",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, most in (
        ("steps", 1_000_000),
        ("cnn-steps", 20_000),
        ("runs", 10_000),
        ("classes", 10_000),
        ("files", 1_000_000),
    ):
        parser.add_argument(f"--{name}", type=int, default=most)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path(tempfile.gettempdir()) / "scale")
    parser.add_argument("--folder", type=Path, help="where to work; by default the system's temporary folder")
    arguments = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from tests.benchmarks.scale.image import draw_growth, table

    arguments.out.mkdir(parents=True, exist_ok=True)
    figures: list[Measurement] = []
    sentences: list[str] = []
    with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
        place = Path(folder)
        if arguments.steps:
            figures, sentences = long_run(arguments.steps, arguments.rounds, place, arguments.out)
            looks = at_each_size((steps.look,), arguments.steps, place)
            draw_growth(looks, arguments.out / "window.png")
            figures += looks
        if arguments.cnn_steps:
            sentences += long_cnn(arguments.cnn_steps, place, arguments.out)
        for most, parts, image in (
            (arguments.runs, (runs.keep_index, runs.open_page), "runs.png"),
            (arguments.classes, (classes.train, classes.show), "classes.png"),
            (arguments.files, (files.look,), "files.png"),
        ):
            if most:
                taken = at_each_size(parts, most, place)
                draw_growth(taken, arguments.out / image)
                figures += taken
        text = "\n".join(f"* {sentence}" for sentence in sentences) + "\n" + table(figures)
        (arguments.out / "scale.md").write_text(text)
        (arguments.out / "scale.json").write_text(json.dumps([asdict(figure) for figure in figures], indent=1))
        print(f"{text}\nWritten to {arguments.out}", flush=True)  # before tens of thousands of files are removed


if __name__ == "__main__":
    main()
