"""The decision boundary of runs over points in the plane: its file, its images, and that looking changes nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image, ImageSequence

from tests.training.commands import Captured, json_line
from tests.training.engine.handing_over import weights
from tests.training.engine.stopping import stopping_after
from tests.training.tiny import tiny
from training.checkpoints.load import load_weights
from training.cli import main
from training.config import RunConfig
from training.engine.assemble import assemble
from training.engine.runs.run import branch_run, resume_run, start_run
from training.runs.boundary.frames import FRAME, GRID, MOST_FRAMES, Boundary, BoundaryFile, Plane, Points, read_boundary
from training.runs.boundary.gaps import join_ranges, tell_gaps
from training.runs.boundary.images import LOOK, shade
from training.runs.folder import RunFolder
from training.runs.records.forms import StatusRecord
from training.runs.records.history import read_history
from training.runs.records.manifest import list_checkpoints
from training.runs.rewind import list_set_aside, restore

ALWAYS = "loop.decision_boundary=every_validation"


def boundary_of(record: StatusRecord) -> Boundary:
    found = read_boundary(RunFolder(Path(record.folder)).boundary_file)
    assert found is not None
    return found


def steps_of(boundary: Boundary) -> list[int]:
    return [int(step) for step in boundary.frames["step"]]


def count_frames(image: Image.Image) -> int:
    return sum(1 for _ in ImageSequence.Iterator(image))


def plane(names: int = 3) -> Plane:
    points = Points(x=(0.0, 1.0), y=(0.0, 1.0), classes=(0, 1))
    classes = tuple(f"class {number}" for number in range(names))
    return Plane(x=(-1.0, 2.0), y=(-1.0, 2.0), columns=("", ""), names=classes, train=points, validation=points)


def blank(number: int = 0) -> np.ndarray:
    return np.full((GRID, GRID), number, np.uint8)


@pytest.mark.parametrize(
    "settings",
    [
        (),
        ("loop.ema_decay=0.9", "model.norm=batch"),
        ("dataset.kind=moons", "objective.kind=binary"),
    ],
)
def test_each_frame_is_what_the_checkpoint_answers_there(tmp_path: Path, settings: tuple[str, ...]) -> None:
    config = tiny(*settings, ALWAYS, "checkpoints.every_steps=8", "checkpoints.keep_last=50")
    record = start_run(config, tmp_path)
    folder, boundary = RunFolder(Path(record.folder)), boundary_of(record)
    assert steps_of(boundary) == [event.step for event in read_history(folder.events_file).validations]
    session = assemble(config, lambda phase, fraction: None)
    with session.data:
        for info, frame in zip(reversed(list_checkpoints(folder)), boundary.frames, strict=True):
            assert info.step == frame["step"]
            load_weights(info.path, session.model, averaged=True)
            session.model.eval()
            for row, column in ((0, 0), (3, 70), (99, 50), (42, 42)):
                x, y = (axis[at] for axis, at in zip(boundary.plane.centers(), (column, row), strict=True))
                place = session.data.normalization.apply(torch.tensor([[x, y]], dtype=torch.float32))
                with torch.inference_mode():
                    answer = session.model(place)[0]
                chances = answer.softmax(0) if len(answer) > 1 else torch.cat([1 - answer.sigmoid(), answer.sigmoid()])
                assert frame["classes"][row, column] == int(chances.argmax())
                assert frame["certainty"][row, column] == pytest.approx(float(chances.max()) * 255, abs=0.51)


@pytest.mark.parametrize("more", [(), ("loop.ema_decay=0.9",), ("loop.swa_start=0.5", "model.norm=batch")])
def test_a_run_that_is_looked_at_is_the_same_to_the_bit(tmp_path: Path, more: tuple[str, ...]) -> None:
    looked = start_run(tiny(ALWAYS, *more), tmp_path)
    alone = start_run(tiny("loop.decision_boundary=off", *more), tmp_path)
    assert weights(looked) == weights(alone)
    assert looked.metrics == alone.metrics
    assert not RunFolder(Path(alone.folder)).boundary_file.exists()


def test_points_are_those_of_the_data_and_lie_inside(tmp_path: Path) -> None:
    shown = boundary_of(start_run(tiny(), tmp_path)).plane
    assert shown.names == ("arm 1", "arm 2", "arm 3")
    assert (len(shown.train.x), len(shown.validation.x)) == (240, 60)
    for points in (shown.train, shown.validation):
        assert shown.x[0] < min(points.x) <= max(points.x) < shown.x[1]
        assert shown.y[0] < min(points.y) <= max(points.y) < shown.y[1]
    assert shown.x[1] - shown.x[0] == pytest.approx(shown.y[1] - shown.y[0])  # one scale


def table(path: Path, task: str) -> RunConfig:
    rows = "".join(f"{n * 7 % 50},{n * 11 % 30 * 10},{'a' if n % 2 else 'b'},{n}\n" for n in range(80))
    path.write_text("width,height,sort,price\n" + rows, encoding="utf-8")
    target, drop = ("sort", "price") if task == "classification" else ("price", "sort")
    return tiny(
        f'dataset={{kind="table", path="{path}", targets=["{target}"], ignored=["{drop}"]}}',
        f"objective.kind={task}",
    )


def test_a_table_of_two_numbers_has_one_too(tmp_path: Path) -> None:
    boundary = boundary_of(start_run(table(tmp_path / "table.csv", "classification"), tmp_path))
    assert boundary.plane.columns == ("width", "height")
    assert max(boundary.plane.train.x) <= 49
    assert max(boundary.plane.train.y) == 290
    assert len(boundary.frames) == 3


def test_what_has_no_plane_or_no_classes_has_none(tmp_path: Path) -> None:
    values = start_run(table(tmp_path / "table.csv", "regression"), tmp_path)
    space = start_run(tiny("dataset.kind=blobs", "dataset.features=3"), tmp_path)
    assert not any(RunFolder(Path(record.folder)).boundary_file.exists() for record in (values, space))


def test_a_resumed_run_has_each_frame_once(tmp_path: Path) -> None:
    config = tiny(ALWAYS, "checkpoints.every_steps=3")
    whole = boundary_of(start_run(config, tmp_path))
    stopped = start_run(config, tmp_path, stopping_after(13))
    BoundaryFile(RunFolder(Path(stopped.folder)).boundary_file, boundary_of(stopped).plane, 99).add(
        20, 3, blank(), blank()
    )
    resumed = boundary_of(resume_run(stopped.folder, tmp_path))
    assert resumed.frames.tobytes() == whole.frames.tobytes()


def test_a_rewind_sets_later_frames_aside_and_brings_them_back(tmp_path: Path) -> None:
    record = start_run(tiny(ALWAYS, "checkpoints.keep_last=50"), tmp_path)
    folder, before = RunFolder(Path(record.folder)), boundary_of(record).frames.tobytes()
    resume_run(str(folder.checkpoints / "step-00000012"), tmp_path, ["loop.decision_boundary=off"])
    assert steps_of(boundary_of(record)) == [8]
    [aside] = list_set_aside(folder)
    assert restore(folder, aside) is not None
    assert boundary_of(record).frames.tobytes() == before


def test_a_branch_begins_with_its_parents_frames(tmp_path: Path) -> None:
    config = tiny(ALWAYS, "checkpoints.keep_last=50")
    parent = start_run(config, tmp_path)
    longer = tiny(ALWAYS, "loop.epochs=5")
    branch = boundary_of(branch_run(RunFolder(Path(parent.folder)).checkpoints / "step-00000016", longer, tmp_path))
    assert steps_of(branch) == [8, 16, 24, 32, 40]
    assert branch.frames[:2].tobytes() == boundary_of(parent).frames[:2].tobytes()


def test_a_run_of_many_validations_keeps_them_evenly(tmp_path: Path) -> None:
    file = BoundaryFile(tmp_path / "boundary.bin", plane(), 0)
    for step in range(1, 1001):
        file.add(step, step, blank(step % 3), blank())
    boundary = read_boundary(tmp_path / "boundary.bin")
    assert boundary is not None
    steps = steps_of(boundary)
    assert len(steps) <= MOST_FRAMES
    assert (steps[0], steps[-1]) == (1, 1000)
    assert max(np.diff(steps)) <= 10
    assert [int(frame["classes"][0, 0]) for frame in boundary.frames] == [step % 3 for step in steps]


@pytest.mark.parametrize("damage", ["empty", "other", "cut", "backward", "unknown class"])
def test_a_damaged_file_counts_as_none_and_is_begun_again(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "boundary.bin"
    file = BoundaryFile(path, plane(), 0)
    for step in (5, 10):
        file.add(step, 1, blank(), blank())
    data = path.read_bytes()
    frames = np.frombuffer(data[-2 * FRAME.itemsize :], FRAME).copy()
    frames["classes"][1, 3, 3] = 7
    path.write_bytes(
        {
            "empty": b"",
            "other": b"GIF89a" + data,
            "cut": data[:60],
            "backward": data + data[-2 * FRAME.itemsize :],
            "unknown class": data[: -2 * FRAME.itemsize] + frames.tobytes(),
        }[damage]
    )
    assert read_boundary(path) is None
    BoundaryFile(path, plane(), 10).add(15, 2, blank(), blank())
    made = read_boundary(path)
    assert made is not None
    assert steps_of(made) == [15]


def test_a_frame_that_is_half_written_is_passed_over(tmp_path: Path) -> None:
    file = BoundaryFile(tmp_path / "boundary.bin", plane(), 0)
    file.add(5, 1, blank(), blank())
    with (tmp_path / "boundary.bin").open("ab") as stream:
        stream.write(b"x" * 100)
    made = read_boundary(tmp_path / "boundary.bin")
    assert made is not None
    assert steps_of(made) == [5]
    BoundaryFile(tmp_path / "boundary.bin", plane(), 5).add(6, 1, blank(1), blank())
    made = read_boundary(tmp_path / "boundary.bin")
    assert made is not None
    assert steps_of(made) == [5, 6]


def test_a_sure_answer_has_its_class_s_color_and_a_guess_almost_none() -> None:
    frame = np.zeros(1, FRAME)[0]
    frame["classes"][0, 1] = 1
    frame["certainty"][0] = 255
    frame["certainty"][1] = 128
    colors = shade(frame, 2, LOOK).astype(int)
    ground, first, second = (
        np.array([int(color[at : at + 2], 16) for at in (1, 3, 5)]) for color in (LOOK.ground, *LOOK.classes[:2])
    )
    assert abs(colors[0, 0] - ground).sum() > 3 * abs(colors[1, 0] - ground).sum()
    for place, color in (((0, 0), first), ((0, 1), second)):
        mixed = (colors[place] - ground) / np.where(color == ground, 1, color - ground)
        assert np.ptp(mixed) < 0.02  # the direction of its color


def test_the_command_writes_an_animation_and_single_frames(tmp_path: Path, capsys: Captured) -> None:
    record = start_run(tiny(ALWAYS), tmp_path)
    film, frames = tmp_path / "film.gif", tmp_path / "frames"
    assert main(["boundary", record.folder, "--out", str(film), "--rate", "20", "--json"]) == 0
    told = {"run": record.run, "out": str(film), "frames": 3, "steps": [8, 16, 24], "left_out": None}
    assert json_line(capsys) == told
    with Image.open(film) as image:
        assert (image.info["duration"], image.info["loop"], count_frames(image)) == (50, 0, 3)
    assert main(["boundary", record.folder, "--out", str(frames)]) == 0
    names = sorted(path.name for path in frames.iterdir())
    assert names == [f"boundary-step-{step:08}.png" for step in (8, 16, 24)]
    with Image.open(frames / names[0]) as first, Image.open(frames / names[2]) as last:
        assert first.size == last.size
        assert first.tobytes() != last.tobytes()


def test_the_command_names_the_epochs_that_have_no_frame(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("training.engine.boundary.FREE_SECONDS", 0.0)
    monkeypatch.setattr("training.engine.boundary.SHARE", 0.0)  # no time for any but the last
    record = start_run(tiny("loop.epochs=5"), tmp_path)
    assert steps_of(boundary_of(record)) == [8, 40]  # nothing was spent before the first
    capsys.readouterr()
    assert main(["boundary", record.folder, "--out", str(tmp_path / "frames")]) == 0
    said = capsys.readouterr().err.splitlines()
    assert said[0].startswith("2 frames in ")
    assert said[1] == (
        "No frame of epochs 2 to 4: drawing them would have taken more than a second and 2 % of the run's time. "
        "Decision boundary: every_validation keeps all."
    )


def test_a_run_at_work_that_has_no_frame_yet_misses_none(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    BoundaryFile(folder.boundary_file, plane(), step=0)
    boundary = read_boundary(folder.boundary_file)
    assert boundary is not None
    assert steps_of(boundary) == []
    assert tell_gaps(folder, boundary) == ""


def test_names_epochs_in_stretches() -> None:
    assert join_ranges([1, 2, 3, 7, 9, 10]) == "1 to 3, 7, 9 to 10"
    assert join_ranges(range(0, 40, 2)) == "0, 2, 4, 6, 8, 10, 12, 14, and 12 more"


def test_the_command_says_what_is_missing(tmp_path: Path, capsys: Captured) -> None:
    record = start_run(tiny("loop.decision_boundary=off"), tmp_path)
    assert main(["boundary", record.folder, "--out", str(tmp_path / "film.gif")]) == 2
    assert "has no decision boundary" in capsys.readouterr().err
    assert main(["boundary", record.folder, "--out", str(tmp_path / "film.gif"), "--rate", "1000"]) == 2
    assert capsys.readouterr().err.startswith("--rate: 1000 frames a second; choose between")
    assert not (tmp_path / "film.gif").exists()
