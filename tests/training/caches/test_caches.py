"""What the caches take is told, and they are cleared: never while somebody trains, and nothing beside them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.data.conftest import fill_class
from tests.training.data.test_image_cache import opened, settle
from tests.training.tiny import tiny
from training.caches import overview
from training.caches.overview import IN_USE, CacheSizes
from training.caches.users import use_caches
from training.data.images.cache_room import CacheWish
from training.engine.runs.run import Hooks, start_run
from training.errors import InputError
from training.events import Event
from training.system.places import cache_folder


def draw_code(size: int = 5000) -> Path:
    """Compiled code of some version."""
    folder = cache_folder() / "compiled" / "0123abcd"
    (folder / "ab").mkdir(parents=True)
    (folder / "ab" / "code.so").write_bytes(bytes(size))
    return folder


def test_sizes_are_told_and_nothing_but_the_caches_is_cleared(tmp_path: Path) -> None:
    assert overview.measure() == CacheSizes()
    assert str(overview.measure()) == ""
    fill_class(tmp_path / "fruit" / "apple", 4)
    fill_class(tmp_path / "fruit" / "pear", 4)
    settle()
    opened(tmp_path / "fruit", CacheWish("on", cache_folder() / "pictures", 10**9))
    draw_code()
    others = [cache_folder() / "pictures" / "notes", cache_folder() / "compiled" / "notes", cache_folder() / "torch"]
    for other in others:
        other.mkdir(parents=True)
        (other / "kept").write_text("of somebody else")
    sizes = overview.measure()
    assert sizes.code == 5000
    assert sizes.images > 0
    assert str(sizes).endswith("of decoded images and 5 kB of compiled code")
    assert overview.clear() == CacheSizes()
    assert all((other / "kept").exists() for other in others)
    assert sorted(path.name for path in (cache_folder() / "compiled").iterdir()) == ["notes"]


def test_nothing_is_cleared_while_a_run_is_trained(tmp_path: Path) -> None:
    code, refusals = draw_code(), []

    def try_to_clear(event: Event) -> None:
        if event.kind == "epoch_ended":
            with pytest.raises(InputError) as refused:
                overview.clear()
            refusals.append(str(refused.value))

    start_run(tiny("loop.epochs=1"), tmp_path, Hooks(watch=try_to_clear))
    assert refusals == [IN_USE]
    assert code.exists()
    assert overview.clear() == CacheSizes()
    assert not code.exists()


def test_a_process_that_was_killed_holds_nothing() -> None:
    draw_code()
    code = "from training.caches.users import use_caches; import os\nwith use_caches():\n    os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", code], check=False)
    assert list((cache_folder() / "in_use").glob("*.lock"))
    assert overview.clear() == CacheSizes()


@pytest.mark.skipif(sys.platform == "win32", reason="folders there are closed by other means")
def test_a_home_that_cannot_be_written_keeps_nobody_from_training(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    with use_caches():
        assert overview.measure() == CacheSizes()
