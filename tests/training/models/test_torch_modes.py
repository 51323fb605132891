"""A network file that changes torch's modes or seeds generators changes nothing of the run but its own network."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.training.commands import Captured, json_line
from training.cli import main
from training.engine import assemble
from training.models import make_model

MODES = (
    "torch.set_grad_enabled(False)",
    "torch.inference_mode().__enter__()",
    "torch.set_default_dtype(torch.float64)",
    "torch.set_default_device('meta')",
    "torch.use_deterministic_algorithms(True, warn_only=True)",
    "torch.set_num_threads(1)",
    "torch.backends.cudnn.benchmark = True",
    "torch.backends.mkldnn.enabled = False",
    "torch.set_float32_matmul_precision('medium')",
    "torch.set_flush_denormal(True)",
    "torch.autocast('cpu').__enter__()",
    "torch.set_autocast_dtype('cpu', torch.float16)",
)
PLAIN = "import torch\ndef build():\n    return torch.nn.Linear(2, 3)\n"
CLOCK = "import random, time\nimport numpy\nimport torch\n"
SEEDED = "numpy.random.seed(time.time_ns() % 2**32)\nrandom.seed(time.time_ns())\ntorch.manual_seed(time.time_ns())\n"
DRAWN = """
def build():
    network = torch.nn.Linear(2, 3)
    network.weight.data[0, 0], network.weight.data[0, 1] = random.random(), numpy.random.rand()
    return network
"""


@pytest.fixture(autouse=True)
def _left_as_found() -> Iterator[None]:
    """A test that fails here must not spoil the others."""
    yield
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.autograd.set_detect_anomaly(False)


def modes() -> list[object]:
    smallest = torch.tensor(5e-324, dtype=torch.float64, device="cpu")
    return [
        torch.is_grad_enabled(), torch.is_inference_mode_enabled(), torch.get_default_dtype(), torch.get_default_device(),
        torch.get_deterministic_debug_mode(), torch.get_num_threads(), torch.backends.cudnn.benchmark,
        torch.backends.mkldnn.enabled, torch.get_float32_matmul_precision(), float(smallest * 1), torch.is_autocast_enabled("cpu"),
        torch.get_autocast_dtype("cpu"),
    ]  # fmt: skip


def command(folder: Path, text: str, name: str) -> list[str]:
    """The arguments of a short run whose network is in a file of ``text``."""
    (folder / f"{name}.py").write_text(text, encoding="utf-8")
    settings = (
        "model.kind=user_file", f"model.path={folder / name}.py", "dataset.samples=60", "loop.batch_size=12",
        "loop.epochs=1", "schedule.warmup=0", "precision.threads=2", "precision.compute=bf16",
    )  # fmt: skip
    told = [word for setting in settings for word in ("--set", setting)]
    return ["preset:spiral", *told, "--trust", "--workspace", str(folder / f"runs {name}"), "--json"]


def trained(folder: Path, text: str, capsys: Captured, name: str = "network") -> dict[str, torch.Tensor]:
    assert main(["run", *command(folder, text, name)]) == 0
    return load_file(Path(json_line(capsys)["last_checkpoint"]) / "model.safetensors")


def same(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> bool:
    return one.keys() == other.keys() and all(one[name].equal(other[name]) for name in one)


@pytest.mark.parametrize(
    ("change", "where"),
    [
        pytest.param(change, ("import", "build")[number % 2], marks=() if number < 2 else pytest.mark.slow)
        for number, change in enumerate(MODES)
    ],
)
def test_modes_are_put_back(tmp_path: Path, capsys: Captured, change: str, where: str) -> None:
    plain = trained(tmp_path, PLAIN, capsys, "plain")
    known = modes()
    on_import = f"import torch\n{change}\ndef build():\n    return torch.nn.Linear(2, 3)\n"
    in_build = f"import torch\ndef build():\n    network = torch.nn.Linear(2, 3)\n    {change}\n    return network\n"
    text = on_import if where == "import" else in_build
    assert main(["check", *command(tmp_path, text, "checked")]) == 0
    assert modes() == known
    assert same(trained(tmp_path, text, capsys), plain)
    assert modes() == known


IN_FORWARD = """
import torch
class Network(torch.nn.Linear):
    def forward(self, x):
        {line}
        return super().forward({taken})
def build():
    return Network(2, 3)
"""


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("torch.set_grad_enabled(False)", "set_grad_enabled"),
        ("self.held = torch.inference_mode(); self.held.__enter__()", "inference_mode"),
        ("torch.set_default_dtype(torch.float64)", "set_default_dtype"),
        ("torch.use_deterministic_algorithms(True, warn_only=True)", "use_deterministic_algorithms"),
        ("torch.backends.cudnn.benchmark = True", "backends.cudnn.benchmark"),
        ("torch.autocast('cpu').__enter__()", "autocast"),
        ("torch.autocast('cpu', enabled=False).__enter__()", "autocast"),
    ],
)
@pytest.mark.parametrize(
    "taken", ["x", pytest.param("x + float(x.sum())", marks=pytest.mark.slow)]
)  # the latter has to be tried with numbers
def test_a_forward_that_leaves_other_modes_is_refused(
    tmp_path: Path, capsys: Captured, line: str, name: str, taken: str
) -> None:
    known = modes()
    assert main(["run", *command(tmp_path, IN_FORWARD.format(line=line, taken=taken), "forward")]) == 2
    assert f"forward.py: forward changes what torch does from then on (torch.{name}), in" in capsys.readouterr().err
    assert modes() == known
    assert not list(tmp_path.glob("runs */runs/*"))


@pytest.mark.parametrize(
    "line",
    [
        "torch.set_grad_enabled(self.training)",
        "torch.set_grad_enabled(True)",
        "torch.autocast('cpu').__enter__().__exit__(None, None, None)",
        "kept = torch.get_float32_matmul_precision(); torch.set_float32_matmul_precision('high'); x = x + float(x.sum()) - "
        "float(x.sum()); torch.set_float32_matmul_precision(kept)",  # where numbers are missing it ends half-way
    ],
)
def test_a_forward_that_changes_nothing_for_the_others_is_taken(tmp_path: Path, capsys: Captured, line: str) -> None:
    plain = trained(tmp_path, PLAIN, capsys, "plain")
    assert same(trained(tmp_path, IN_FORWARD.format(line=line, taken="x"), capsys), plain)


def test_a_run_that_was_trained_in_other_modes_is_still_exported_and_continued(
    tmp_path: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its weights are what they are; the run is held to its file."""
    text = IN_FORWARD.format(line="torch.set_float32_matmul_precision('high')", taken="x")
    with monkeypatch.context() as before:
        before.setattr(assemble, "make_model", lambda *given: make_model(*given[:5]))  # by a version that did not look
        assert main(["run", *command(tmp_path, text, "old")]) == 0
    run = json_line(capsys)
    torch.set_float32_matmul_precision("highest")
    assert main(["export", run["last_checkpoint"], "--to", "safetensors", "--out", str(tmp_path / "out")]) == 0
    branch = [
        "resume",
        run["last_checkpoint"],
        "--branch",
        "--set",
        "loop.epochs=2",
        "--workspace",
        str(tmp_path / "runs old"),
    ]
    assert main(branch) == 0
    torch.set_float32_matmul_precision("highest")


def test_a_device_that_is_entered_and_not_left_is_refused(tmp_path: Path, capsys: Captured) -> None:
    held = (
        "import torch\nheld = torch.device('meta')\nheld.__enter__()\ndef build():\n    return torch.nn.Linear(2, 3)\n"
    )
    try:
        assert main(["run", *command(tmp_path, held, "held")]) == 2
    finally:
        while torch.get_default_device().type == "meta":
            torch.device("meta").__exit__(None, None, None)
    assert "held.py: enters a torch.device(...) that it does not leave" in capsys.readouterr().err


def test_a_fault_that_nobody_foresaw_is_a_finding(tmp_path: Path, capsys: Captured) -> None:
    detached = "import torch\nclass N(torch.nn.Linear):\n    def forward(self, x):\n        return super().forward(x).detach()\ndef build():\n    return N(2, 3)\n"
    assert main(["check", *command(tmp_path, detached, "detached")]) == 2
    findings = json_line(capsys)["findings"]
    assert findings[0]["level"] == "ok"  # what was found before is told, too
    assert findings[-1]["level"] == "error"
    assert "does not require grad" in findings[-1]["title"]


def test_seeding_on_import_changes_no_weight(tmp_path: Path, capsys: Captured) -> None:
    plain = trained(tmp_path, CLOCK + DRAWN, capsys, "plain")
    assert same(trained(tmp_path, CLOCK + SEEDED + DRAWN, capsys), plain)


def test_check_tells_of_a_build_that_seeds_from_the_clock(tmp_path: Path, capsys: Captured) -> None:
    seeding = DRAWN.replace("    network =", "    torch.manual_seed(time.time_ns())\n    network =")
    for text, told in ((CLOCK + seeding, True), (CLOCK + SEEDED + DRAWN, False)):
        assert main(["check", *command(tmp_path, text, "network")]) == 0
        titles = [item["title"] for item in json_line(capsys)["findings"]]
        assert any("the initial weights are others each time" in title for title in titles) is told
