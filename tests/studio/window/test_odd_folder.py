"""Qt in a folder whose name it does not read to the end."""

import os
import subprocess
import sys
from pathlib import Path

import PySide6
import pytest


@pytest.mark.skipif(os.name == "nt", reason="no folder of Windows has such a name")
def test_a_window_opens_from_a_folder_that_qt_cannot_read(tmp_path: Path) -> None:
    folder = tmp_path / 'Müller, Hans; "訓練" \\ 2'
    folder.symlink_to(Path(PySide6.__file__).parents[1])
    code = (
        f"import sys; sys.path.insert(0, {str(folder)!r})\n"
        "from studio.window.application import make_application\n"
        "import PySide6; print(PySide6.__file__); print(make_application().platformName())"
    )
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "PYTHONUTF8": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, encoding="utf-8", check=False)
    assert done.stdout.splitlines() == [str(folder / "PySide6" / "__init__.py"), "offscreen"], done.stderr
