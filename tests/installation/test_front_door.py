"""`trainwright` and `python -m studio`: which of its jobs the program does, loading no more than that one needs."""

import ast
import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest

import studio.__main__ as front_door
import training.cli
from studio.services.app_settings import AppSettings, save_settings, settings_file


class Called(ModuleType):
    """Stands where a heavy module would be imported, and remembers what its main was given."""

    def __init__(self, name: str, code: int) -> None:
        super().__init__(name)
        self.argv: list[str] | None = None
        self.code = code

    def main(self, argv: list[str]) -> int:
        self.argv = argv
        return self.code


@pytest.fixture
def command_line(monkeypatch: pytest.MonkeyPatch) -> Called:
    fake = Called("training.cli", 130)
    monkeypatch.setitem(sys.modules, "training.cli", fake)
    return fake


@pytest.fixture
def window(monkeypatch: pytest.MonkeyPatch) -> Called:
    fake = Called("studio.app", 0)
    monkeypatch.setitem(sys.modules, "studio.app", fake)
    return fake


@pytest.fixture
def no_display(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)


def test_a_frozen_worker_is_recognized_before_anything_else() -> None:
    """Without this a frozen program starts itself again for each worker, without end."""
    tree = ast.parse(Path(front_door.__file__).read_text(encoding="utf-8"))
    main = next(node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "main")
    first = main.body[1]  # after the docstring
    assert isinstance(first, ast.If)
    assert ast.unparse(first.test) == "getattr(sys, 'frozen', False)"
    assert ast.unparse(first.body[0]) == "importlib.import_module('multiprocessing').freeze_support()"


def test_a_worker_that_imports_main_again_starts_nothing() -> None:
    tree = ast.parse(Path(front_door.__file__).read_text(encoding="utf-8"))
    last = tree.body[-1]
    assert isinstance(last, ast.If)
    assert ast.unparse(last.test) == "__name__ == '__main__'"
    definitions = (ast.Expr, ast.Import, ast.ImportFrom, ast.Assign, ast.FunctionDef)
    assert all(isinstance(node, definitions) for node in tree.body[:-1])


@pytest.mark.parametrize("module", ["studio.preflight", "studio.identity", "studio.shortcut", "studio.__main__"])
def test_importing_loads_neither_torch_nor_qt(module: str) -> None:
    code = f"import sys, {module}; print([name for name in ('torch', 'PySide6', 'numpy') if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"


@pytest.mark.parametrize("word", training.cli.commands())
def test_words_of_the_command_line_go_to_training(word: str, command_line: Called, window: Called) -> None:
    assert front_door.main([word, "lab.toml", "--json"]) == 130
    assert command_line.argv == [word, "lab.toml", "--json"]
    assert window.argv is None


def test_engines_are_looked_after_from_here_even_without_torch(
    command_line: Called, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(front_door, "_engine_python", lambda: "/another/python")
    assert front_door.main(["engines", "list"]) == 130
    assert command_line.argv == ["engines", "list"]


def test_all_commands_are_known_and_listed_and_a_misspelled_one_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    listed = training.cli.commands()
    assert {"run", "generate", "schema"} <= set(listed)
    assert "serve" not in listed
    with pytest.raises(SystemExit):
        front_door.main(["--help"])
    assert f"trainwright {' | '.join(listed)} (see" in " ".join(capsys.readouterr().out.split())
    assert front_door.main(["generat"]) == 2
    assert "did you mean generate?" in capsys.readouterr().err


def test_check_asks_the_engine_in_a_process_of_its_own() -> None:
    code = "import sys, studio.__main__ as door; code = door.main(['--check']); print('torch' in sys.modules); sys.exit(code)"
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen"}
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, env=environ)
    assert answer.returncode == 0, answer.stderr
    assert answer.stdout.splitlines()[1:] == ["The window can open here.", "False"]
    assert answer.stderr.startswith(f"ok       PyTorch {version('torch')}")


def test_generate_answers_as_the_installed_program() -> None:
    code = "import sys, studio.__main__ as door; sys.exit(door.main(['generate']))"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert answer.returncode == 2
    assert "CHECKPOINT_DIR" in answer.stderr


def test_the_window_gets_the_config_and_the_wish_to_start(tmp_path: Path, window: Called) -> None:
    config = tmp_path / "my lab.toml"
    config.touch()
    assert front_door.main([str(config), "--start"]) == 0
    assert window.argv == [str(config), "--start"]


def test_a_file_without_a_suffix_and_a_run_are_opened_unless_they_are_called_like_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("myconfig", "generate"):
        Path(name).touch()
    Path("20260101-shapes").mkdir()
    Path("20260101-shapes", "config.toml").touch()
    assert front_door.main(["20260101-shapes"]) == 0
    assert window.argv == ["20260101-shapes"]
    assert front_door.main(["myconfig", "--start"]) == 0
    assert window.argv == ["myconfig", "--start"]
    window.argv = None
    assert front_door.main(["generate"]) == 2
    assert "CHECKPOINT_DIR" in capsys.readouterr().err
    assert window.argv is None


def test_without_arguments_the_window_opens(window: Called) -> None:
    assert front_door.main([]) == 0
    assert window.argv == []


def test_a_config_that_is_not_there_is_said_before_qt_starts(
    tmp_path: Path, window: Called, capsys: pytest.CaptureFixture[str]
) -> None:
    assert front_door.main([str(tmp_path / "lab.toml")]) == 2
    assert "lab.toml: there is no such file" in capsys.readouterr().err
    assert front_door.main([str(tmp_path)]) == 2
    assert f"{tmp_path}: is a folder without a run" in capsys.readouterr().err
    assert window.argv is None


@pytest.mark.skipif(sys.platform != "linux", reason="Windows and macOS always have a display")
@pytest.mark.usefixtures("no_display")
class TestWithoutDisplay:
    def test_the_sample_is_trained_instead(
        self, window: Called, command_line: Called, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert front_door.main([]) == 130
        assert command_line.argv == ["run", "preset:sample"]
        assert "There is no display here" in capsys.readouterr().err
        assert window.argv is None

    def test_a_config_to_be_started_is_trained(self, tmp_path: Path, command_line: Called) -> None:
        config = tmp_path / "lab.toml"
        config.touch()
        assert front_door.main([str(config), "--start"]) == 130
        assert command_line.argv == ["run", str(config)]

    def test_a_config_to_be_looked_at_is_not_trained(
        self, tmp_path: Path, command_line: Called, capsys: pytest.CaptureFixture[str]
    ) -> None:
        config = tmp_path / "lab.toml"
        config.touch()
        assert front_door.main([str(config)]) == 2
        assert f"trainwright run {config}" in capsys.readouterr().err
        assert command_line.argv is None

    def test_check_says_so_and_fails(self, capsys: pytest.CaptureFixture[str]) -> None:
        save_settings(settings_file(), AppSettings(engine_python="/no/such/python"))
        assert front_door.main(["--check"]) == 1
        told = capsys.readouterr().out
        assert "There is no display here" in told
        assert "The engine's Python /no/such/python could not be started: No such file or directory." in told


def test_the_folder_of_a_run_is_opened_and_another_one_is_not(tmp_path: Path, window: Called) -> None:
    run = tmp_path / "20260101-shapes"
    run.mkdir()
    assert front_door.main([str(run)]) == 2
    assert window.argv is None
    (run / "config.toml").touch()
    assert front_door.main([str(run)]) == 0
    assert window.argv == [str(run)]


def test_a_window_without_torch_has_the_words_carried_out_by_an_engine(
    monkeypatch: pytest.MonkeyPatch, command_line: Called
) -> None:
    asked: list[tuple[str, list[str]]] = []

    def run_engine(python: str, words: list[str], instead: bool = False) -> int:
        asked.append((python, words))
        return 130

    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(front_door, "_run_engine", run_engine)
    monkeypatch.setenv("TRAINWRIGHT_ENGINE", "/an/engine/bin/python")
    assert front_door.main(["run", "preset:sample"]) == 130
    assert asked == [("/an/engine/bin/python", ["run", "preset:sample"])]
    assert command_line.argv is None
