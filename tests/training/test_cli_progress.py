"""What a run tells in a terminal and beside it: one line an epoch, one line that changes."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.commands import Captured, json_line
from tests.training.engine.stopping import stopping_at
from tests.training.tiny import tiny
from training.cli import main
from training.engine.runs.run import start_run
from training.live_line import Part, fit_parts
from training.runs.folder import RunFolder
from training.runs.records.series import read_series

EPOCH = re.compile(r"epoch +\d+  step +\d+  train/loss \S+  val/loss \S+ .*lr \S+  clipped \S+%")


def test_each_epoch_is_one_plain_line_with_its_rate_and_the_share_of_clipped_steps(
    config: Path, capsys: Captured
) -> None:
    assert main(["run", str(config), "--set", "loop.clip_norm=0.3", "--json"]) == 0
    told = capsys.readouterr()
    assert "\x1b" not in told.err
    assert "\r" not in told.err
    folder = RunFolder(next((Path(os.environ["TRAINWRIGHT_WORKSPACE"]) / "runs").iterdir()))
    rows = read_series(folder.series_file)
    lines = [line for line in told.err.splitlines() if line.startswith("epoch")]
    assert len(lines) == 3
    for line, first in zip(lines, (0, 8, 16), strict=True):
        assert EPOCH.match(line), line
        epoch = rows[first : first + 8]
        assert f"lr {epoch['lr'][-1]:.3g}  " in line
        assert f"clipped {sum(epoch['grad_norm'] > 0.3) / 8:.0%}" in line
    assert 0 < (rows["grad_norm"] > 0.3).sum() < len(rows)  # or no share would be told wrong
    assert main(["run", str(config), "--set", "loop.clip_norm=none"]) == 0
    assert "clipped" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("sections", "written", "told"),
    [
        (
            '[dataset]\nkind = "table"\n[model]\nkind = "tabular"\nhidden = [4]\n[objective]\nkind = "regression"',
            "a,b\n1.5,2.25\n3,1.75\n",
            "; 1 target; ",
        ),
        ('[dataset]\nkind = "table"\n[model]\nkind = "tabular"\nhidden = [4]', "a,b\n1.5,x\n3,y\n", "; 2 classes; "),
        (
            '[dataset]\nkind = "text"\ncontext = 8\n[model]\nkind = "gpt"\nlayers = 1\nheads = 1\nwidth = 8',
            "to be or not to be\n",
            "; a vocabulary of 9; ",
        ),
    ],
)
def test_the_data_are_told_in_the_words_of_their_target(
    tmp_path: Path, capsys: Captured, sections: str, written: str, told: str
) -> None:
    head, *rows = written.splitlines(keepends=True)
    (tmp_path / "data.csv").write_text(head + "".join(rows) * 30 if rows else head * 30)
    config = tmp_path / "told.toml"
    config.write_text(sections.replace("kind", 'path = "data.csv"\nkind', 1) + "\n[loop]\nmax_steps = 1\n")
    assert main(["run", str(config)]) == 0
    assert told in next(line for line in capsys.readouterr().err.splitlines() if line.startswith("data: "))


def test_show_tells_how_many_steps_were_clipped(config: Path, capsys: Captured) -> None:
    assert main(["run", str(config), "--set", "loop.clip_norm=0.3", "--json"]) == 0
    run = json_line(capsys)
    clipped = int((read_series(RunFolder(Path(run["folder"])).series_file)["grad_norm"] > 0.3).sum())
    assert main(["show", run["run"], "--json"]) == 0
    shown = json_line(capsys)["clipped"]
    assert shown == {"clip_norm": 0.3, "share": clipped / 24, "clipped": clipped, "made": 24, "skipped": 0}
    assert main(["show", run["run"]]) == 0
    assert f"clipped    {clipped / 24:.0%} of 24 steps (gradient norm above 0.3)\n" in capsys.readouterr().out


class Screen(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("columns", [60, 80, 100, 180])
def test_the_changing_lines_of_a_terminal_have_every_figure(
    config: Path, monkeypatch: pytest.MonkeyPatch, columns: int
) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("training.console.REDRAW_SECONDS", 0.0)
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("TERM", "xterm")
    stops = ["--set", "loop.early_stopping_patience=5", "--set", "loop.early_stopping_min_delta=100"]
    assert main(["run", str(config), *stops]) == 0
    shown = re.sub(r"(\x1b\[[0-9?]*[A-Za-z]|\r)+", "\n", screen.getvalue())
    figures = re.compile(r"epoch |    .*(loss|samples/s|stopping)")
    assert [line for line in shown.splitlines() if figures.match(line) and len(line) > columns] == []
    told = " ".join(shown.split())
    every = r"epoch [23]/3 step \d+/24 loss \S+ grad norm \S+ lr \S+ [\d,]+ samples/s [\w ]+ left"
    assert re.search(every, told), shown
    assert re.search(r"epoch 3/3 step \d+/24 loss [^=]*? left early stopping 2 of 5", told), shown


def test_early_stopping_s_count_stands_in_the_changing_line_from_the_first_step_after_a_resume(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops = ("loop.early_stopping_patience=5", "loop.early_stopping_min_delta=100", "loop.epochs=4")
    stopped = start_run(tiny(*stops), tmp_path, stopping_at(16))
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr("training.console.REDRAW_SECONDS", 0.0)
    monkeypatch.setenv("COLUMNS", "180")
    monkeypatch.setenv("TERM", "xterm")
    words = ["resume", stopped.folder, "--workspace", str(tmp_path)]
    assert main(words) == 0
    shown = re.sub(r"(\x1b\[[0-9?]*[A-Za-z]|\r)+", "\n", screen.getvalue())
    drawn = [line for line in shown.splitlines() if re.match(r"epoch 3/4  step \d+/32", line)]
    assert drawn
    assert "early stopping 1 of 5" in drawn[0], shown


def test_parts_that_do_not_fit_into_the_lines_are_left_out_whole() -> None:
    parts = [Part("epoch 1/5", 2), Part("step 7/40"), Part("loss 0.5", 1), Part("lr 0.001", 3), Part("9 samples/s", 4)]
    assert fit_parts(parts, 80) == ["epoch 1/5  step 7/40  loss 0.5  lr 0.001  9 samples/s"]
    assert fit_parts(parts, 40) == ["epoch 1/5  step 7/40  loss 0.5  lr 0.001", "    9 samples/s"]
    assert fit_parts(parts, 14) == ["epoch 1/5", "    step 7/40", "    loss 0.5", "    lr 0.001"]
    assert fit_parts(parts, 10) == ["step 7/40"]
    assert fit_parts(parts, 3) == ["step 7/40"]


@pytest.mark.slow
@pytest.mark.parametrize("columns", [80, 40])
def test_the_live_line_of_a_terminal_fits_and_names_its_figures(config: Path, tmp_path: Path, columns: int) -> None:
    words = ["run", str(config), "--set", "loop.epochs=40", "--workspace", str(tmp_path)]
    spawn = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"
    variables = os.environ | {"TERM": "xterm", "COLUMNS": str(columns)}
    terminal = [sys.executable, "-c", spawn, sys.executable, "-m", "training", *words]
    done = subprocess.run(terminal, capture_output=True, text=True, check=True, env=variables)
    drawn = [line.split("\x1b[2K")[-1] for line in re.split(r"[\r\n]", done.stdout)]
    live = [line for line in drawn if re.match(r"epoch \d+/40  step \d+/320|    .*(loss|samples/s|left|\.\.\.$)", line)]
    assert any("loss" in line for line in live), done.stdout
    assert all(len(line) <= columns for line in live)
    shown = re.sub(r"\x1b\[[0-9?]*[A-Za-z]|\s", " ", done.stdout)
    assert re.search(r" left +validating\.\.\. ", shown), done.stdout  # which does not take the figures away
    dumb = subprocess.run(terminal, capture_output=True, text=True, check=True, env=variables | {"TERM": "dumb"})
    assert "\x1b" not in dumb.stdout
    assert EPOCH.search(dumb.stdout)
