"""Where there is neither torch nor Trainwright: what ``preprocess.py`` reads there."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np

from training.export.bundle import ExportBundle
from training.export.choices import NOTHING, settle
from training.export.facts import write_facts
from training.export.loader import write_preprocess
from training.export.place import TOKENIZER
from training.export.proof.data import RealData, open_data
from training.export.proof.samples import describe_answers, gather_kept

WITHOUT = (
    *("torch", "torchvision", "safetensors", "polars", "pydantic", "psutil", "tomlkit", "rich", "sqlalchemy"),
    *("jinja2", "tokenizers", "PySide6", "pyqtgraph", "onnx", "platformdirs", "filelock"),
)
"""What is in no environment that has NumPy, ONNX Runtime and Pillow alone."""
_READ = f"""
import json, runpy, sys
sys.modules.update(dict.fromkeys({(*WITHOUT, "onnxruntime", "training")!r}))
import numpy as np
code = runpy.run_path(sys.argv[1] + "/preprocess.py")
facts, raw = code["load_facts"](), json.load(open(sys.argv[1] + "/raw.json", encoding="utf-8"))
if "read_rows" in code:
    found = {{"features": code["read_rows"](facts, raw)}}
else:
    read = [code["read_text"](facts, text) for text in raw]
    found = dict(zip(("tokens", "lengths"), map(np.concatenate, zip(*read))))
np.savez(sys.argv[1] + "/read.npz", **found)
"""


def check_reading_apart(bundle: ExportBundle, folder: Path) -> None:
    """The ``preprocess.py`` beside a graph makes of raw rows or texts what the engine reads, in a process that has NumPy alone."""
    data = open_data(bundle, lambda text, fraction: None)
    assert isinstance(data, RealData), data
    settled = settle(NOTHING, bundle)
    raw = gather_kept(bundle, describe_answers(bundle, settled), data, "float32", 1e-4).raw
    assert raw is not None
    folder.mkdir()
    graph = folder / "model.onnx"
    graph.write_bytes(b"")
    assert write_preprocess(bundle, graph)
    if bundle.facts.vocabulary:
        (folder / TOKENIZER).write_text(bundle.vocabulary.tokenizer_json(), encoding="utf-8")
    write_facts(bundle, graph, "onnx", settled)
    texts = [content.decode() for content in raw.content]
    written = texts if bundle.facts.vocabulary else [json.loads(text) for text in texts]
    (folder / "raw.json").write_text(json.dumps(written), encoding="utf-8")
    words = [sys.executable, "-I", "-c", _READ, str(folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    with np.load(folder / "read.npz") as found:
        assert set(found) == set(raw.inputs)
        for name, expected in raw.inputs.items():
            assert found[name].dtype == expected.dtype
            np.testing.assert_array_equal(found[name], expected)
            assert len(expected) > 5
