"""An engine process without torch: the same requests, replies, run folder and commands, numbers made up.

What it does beyond training is chosen by the run's name: "refused", "vanishes" (refused after its folder was made),
"fails", "dies" (killed by itself), "prints" (garbage on standard output). A step takes ``loop.batch_size`` milliseconds.
"""

from __future__ import annotations

import base64
import json
import math
import os
import queue
import shutil
import signal
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from training.config import RunConfig, apply_overrides, parse_config
from training.config.files import config_data
from training.control import Control
from training.events import (
    AttemptStarted,
    CheckpointSaved,
    Completed,
    DataPrepared,
    EpochEnded,
    Event,
    Failed,
    PhaseChanged,
    Profiled,
    Stopped,
    Validated,
)
from training.runs.folder import RunFolder, claim, create_run, release
from training.runs.records.forms import BestCheckpoint, Parent, StatusRecord
from training.runs.records.history import EventLog
from training.runs.records.manifest import FORMAT, MANIFEST, STATE, WEIGHTS, checkpoint_name, seal, write_labels
from training.runs.records.series import FLUSH_ROW, STEP_ROW, SeriesWriter
from training.runs.rewind import look_beyond, rewind
from training.runs.step_profile import Profile, write_profile

STEPS_PER_EPOCH = 20
PROFILED_STEPS = 20
FINGERPRINT = "ab" * 32
PROOF = "On 12 samples of the validation part: largest difference of a score 0, 100% of the answers alike."


def reply(number: int, kind: str, **rest: Any) -> None:
    os.write(1, json.dumps({"id": number, "reply": kind, **rest}).encode() + b"\n")


class Run:
    """One attempt."""

    def __init__(
        self, folder: RunFolder, config: RunConfig, first_step: int = 0, checkpoint: str | None = None
    ) -> None:
        self.folder, self.config, self.checkpoint = folder, config, checkpoint
        self.step = first_step
        self.total = config.loop.epochs * STEPS_PER_EPOCH
        self.control = Control()
        self.control.watch(folder.path)
        self.log = EventLog(folder.events_file)
        self.series = SeriesWriter(folder.series_file, STEP_ROW)
        self.telemetry = SeriesWriter(folder.telemetry_file, FLUSH_ROW)
        self.best = folder.status().best
        self.profiling_until = 0

    def emit(self, event: Event) -> None:
        self.log.emit(event)

    def status(self, status: str, reason: str | None = None, **changes: Any) -> StatusRecord:
        now = dict(
            status=status, step=self.step, epoch=self.epoch, epochs=self.config.loop.epochs, total_steps=self.total,
            best=self.best, reason=reason, updated=time.time(), samples_per_second=1000.0, metrics={}, skipped_steps=0,
            ended=time.time() if status != "running" else None, **changes,
        )  # fmt: skip
        record = self.folder.read_status().model_copy(update=now)
        self.folder.write_status(record)
        return record

    @property
    def epoch(self) -> int:
        return math.ceil(self.step / STEPS_PER_EPOCH)

    def work(self) -> StatusRecord:
        self.emit(PhaseChanged(phase="preparing data"))
        from tests.reports import make_report  # imported late, as all that few tests ask for: hundreds start this

        self.emit(DataPrepared(report=make_report().model_copy(update={"fingerprint": FINGERPRINT})))
        self.emit(PhaseChanged(phase="building the model"))
        self.series.truncate(self.step)
        self.emit(
            AttemptStarted(
                attempt=1, step=self.step, total_steps=self.total, steps_per_epoch=STEPS_PER_EPOCH,
                epochs=self.config.loop.epochs, device="cpu", checkpoint=self.checkpoint, parameters=148_000,
            )
        )  # fmt: skip
        self.status("running")
        self.emit(PhaseChanged(phase="training"))
        while self.step < self.total:
            self.control.poll()
            if self.control.stop:
                break
            if self.control.paused.is_set():
                self._pause()
                continue
            self._step()
        if self.step < self.total:
            if not self.control.discard:
                self.save()
            self.emit(Stopped(step=self.step))
            return self.status("stopped")
        self.emit(Completed(step=self.step, reason="all steps done"))
        return self.status("completed")

    def _pause(self) -> None:
        self.emit(PhaseChanged(phase="paused"))
        while self.control.paused.is_set() and not self.control.stop:
            self.control.poll()
            time.sleep(0.01)
        self.emit(PhaseChanged(phase="training"))

    def _step(self) -> None:
        self.step += 1
        time.sleep(self.config.loop.batch_size / 1000)
        if self.step == 5 and self.config.name == "fails":
            raise RuntimeError("the numbers ran out")
        if self.step == 5 and self.config.name == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        loss = 2.0 / self.step
        self.series.append(np.array([(self.step, self.epoch, 0, 1e-3, loss, 1.0)], STEP_ROW))
        self.telemetry.append(
            np.array(
                [(time.time(), self.step, 1000.0, 0.0, 200.0, 0.0, 0.5, math.nan, 0.0, 0.0, 1.0, math.nan, 0.0)],
                FLUSH_ROW,
            )
        )
        if self.control.save:
            self.control.save = False
            self.save()
        if self.control.profile:
            self.control.profile = False
            self.profiling_until = self.step + PROFILED_STEPS
        if self.profiling_until == self.step:
            self._end_profile()
        if self.step % STEPS_PER_EPOCH == 0 or self.control.validate:
            self.control.validate = False
            self._validate()

    def _end_profile(self) -> None:
        """A step that waits for its data two thirds of the time."""
        profile = Profile(
            last_step=self.step, steps=PROFILED_STEPS, samples_per_second=1000.0, device="CPU", busy=None, workers=1, cores=4,
            cached=False, parts={"wait": 0.4, "forward": 0.1, "backward": 0.1}, outside={},
        )  # fmt: skip
        write_profile(self.folder, profile)
        self.emit(Profiled(step=self.step, steps=PROFILED_STEPS))

    def _validate(self) -> None:
        self.emit(PhaseChanged(phase="validating"))
        metrics = {"val/accuracy": 1.0 - 1.0 / (self.step + 1), "val/loss": 1.0 / self.step}
        self.emit(Validated(step=self.step, epoch=self.epoch, metrics=metrics, improved=True))
        name = checkpoint_name(self.step)
        self.best = BestCheckpoint(
            metric="val/accuracy", value=metrics["val/accuracy"], step=self.step, checkpoint=name
        )
        self.emit(EpochEnded(step=self.step, epoch=self.epoch, metrics={"train/loss": 2.0 / self.step}))
        self.save(metrics, best=True)
        self.status("running")
        self.emit(PhaseChanged(phase="training"))

    def save(self, metrics: dict[str, float] | None = None, best: bool = False) -> None:
        self.emit(PhaseChanged(phase="saving"))
        path = self.folder.checkpoints / checkpoint_name(self.step)
        path.mkdir(exist_ok=True)
        manifest: dict[str, Any] = {
            "format": FORMAT, "step": self.step, "epoch": self.epoch, "time": time.time(), "metrics": metrics or {},
            "config": config_data(self.config), "data": {"fingerprint": ""},
            "files": {WEIGHTS: {"bytes": 1000, "sha256": "0" * 64}, STATE: {"bytes": 500, "sha256": "0" * 64}},
        }  # fmt: skip
        (path / MANIFEST).write_text(json.dumps(seal(manifest)), encoding="utf-8")
        labels = {"last": path.name}
        if self.best is not None:
            labels["best"] = Path(str(self.best.checkpoint)).name
        write_labels(self.folder, labels)
        self.emit(
            CheckpointSaved(step=self.step, epoch=self.epoch, checkpoint=path.name, labels=("best",) if best else ())
        )
        self.emit(PhaseChanged(phase="training"))

    def close(self) -> None:
        self.log.close()
        self.series.close()
        self.telemetry.close()
        release(self.folder.path)


class FakeEngine:
    def __init__(self) -> None:
        self.current: Run | None = None
        self.ended = False  # told to end, perhaps before there was a run to stop
        self.interrupted = threading.Event()

    def answer(self, request: dict[str, Any]) -> None:
        action, number = str(request["action"]), int(request["id"])
        if action in ("run", "branch", "resume"):
            self._train(action, number, request)
        elif action == "export":
            reply(number, "progress", text="Writing", fraction=0.5)
            Path(request["out"]).write_bytes(b"weights")
            reply(number, "done", result={"path": request["out"], "files": [request["out"]], "proof": PROOF})
        elif action == "evaluate":
            self._evaluate(number, request)
        elif action == "add_intervals":
            self._add_intervals(number, request)
        elif action == "compare_evaluations":
            sentences = {"accuracy": "B is better by 3.0 points (1.0 to 5.0)"}
            reply(number, "done", result={"samples": 60, "sentences": sentences})
        elif action == "read_samples":
            reply(number, "done", result={"samples": [make_sample(each) for each in request["numbers"]]})
        elif action == "digest_data":
            reply(number, "done", result={"fingerprint": "0" * 64})
        elif request.get("config", {}).get("name") == "slow":
            time.sleep(0.5)
            reply(number, "done", result={"notes": ["slow"]})
        elif request.get("config", {}).get("name") == "refused":
            reply(number, "refused", message="That is no dataset.", advice="", problems=[["dataset.kind", "is wrong."]])
        elif "loop" in request.get("config", {}):  # a whole configuration: the Setup page asks
            reply(number, "refused", message="There is nothing to look at.", advice="", problems=[])
        else:
            reply(number, "done", result={"notes": [request.get("config", {}).get("name", "")]})

    def _add_intervals(self, number: int, request: dict[str, Any]) -> None:
        """Of the accuracy, whatever it is."""
        from training.predictions import Measured, read
        from training.predictions.writing import replace_metrics

        kept = read(Path(request["evaluation"]))
        replace_metrics(kept, {"accuracy": Measured(value=0.5, low=0.4, high=0.6)}, {})
        reply(number, "done", result={"folder": str(kept.folder)})

    def _evaluate(self, number: int, request: dict[str, Any]) -> None:
        """The training part takes until somebody interrupts it."""
        if request["importance"]:  # the evaluation is there already, and mapped by the window
            reply(number, "refused", message="This engine shuffles no columns.", advice="Ask the real one.")
            return
        reply(number, "progress", text="evaluating, 30 of 60 samples", fraction=0.5)
        if request["on"] == "train":
            self.interrupted.wait()
            reply(number, "refused", message="The evaluation was stopped.", advice="Ask for it again.")
            return
        checkpoint = Path(request["checkpoint"])
        if request["on"].endswith("birds"):
            reply(number, "refused", message=f"--on {request['on']}: has the class 'emu'.", advice="")
            return
        step = int(checkpoint.name.removeprefix("step-"))
        from tests.evaluations import make_evaluation

        made = make_evaluation(checkpoint.parent.parent, 60, on=request["on"], step=step, layout="image")
        reply(number, "done", result={"folder": str(made.folder)})

    def _train(self, action: str, number: int, request: dict[str, Any]) -> None:
        first_step, checkpoint, beyond = 0, None, None
        if action == "resume":
            target = Path(request["target"])
            inside = target.parent.name == "checkpoints"
            folder = RunFolder(target.parent.parent if inside else target)
            config = folder.config()
            newest = sorted(folder.checkpoints.glob("step-*"))
            if inside or newest:
                checkpoint = str(target if inside else newest[-1])
                first_step = int(Path(checkpoint).name.removeprefix("step-"))
                beyond = look_beyond(folder, Path(checkpoint))
            if request["overrides"]:  # a branch, or a new run where there is no checkpoint yet
                data: dict[str, Any] = config_data(config)
                apply_overrides(data, request["overrides"])
                config = parse_config(data)
                folder = create_run(folder.path.parent.parent, config, Parent(run=folder.id))
        else:
            config = parse_config(request["config"])
            if config.name == "refused":
                reply(
                    number, "refused", message="No such optimizer.", advice="", problems=[["optimizer.lr", "is wrong."]]
                )
                return
            parent = Parent(run=Path(request["checkpoint"]).parent.parent.name) if action == "branch" else None
            folder = create_run(Path(request["workspace"]), config, parent)
        claim(folder.path)
        if beyond is not None:
            rewind(folder, beyond)
        if config.name == "prints":
            os.write(1, b"a library says hello\n{broken json\n")
        run = self.current = Run(folder, config, first_step, checkpoint)
        if self.ended:
            run.control.request_stop()
        reply(number, "started", run=folder.id, folder=str(folder.path))
        try:
            if config.name == "vanishes":
                run.close()
                shutil.rmtree(folder.path)
                reply(number, "refused", message="The dataset is empty.", advice="", problems=[])
                return
            try:
                record = run.work()
            except RuntimeError as error:
                run.emit(
                    Failed(
                        step=run.step,
                        reason=f"Oh no: {error}.",
                        advice="Buy more numbers.",
                        log="line 1\nline 2",
                        fix={"name": "better"},
                    )
                )
                record = run.status("failed", str(error), fix={"name": "better"})
            run.close()
        finally:
            self.current = None
        reply(number, "finished", result=record.dump(), reusable=config.name == "again")


def make_sample(number: int) -> dict[str, Any]:
    """A gray image of one pixel whose value is its number."""
    pixel = base64.b64encode(bytes([number % 256])).decode()
    shape = {"width": 1, "height": 1, "channels": 1}
    return {"label": "", "index": number, **shape, "pixels_base64": pixel, "original_base64": pixel}


def listen(engine: FakeEngine, requests: queue.Queue[dict[str, Any] | None]) -> None:
    detached = keep_training = False
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if request["action"] == "detach":
            detached = True
            reply(request["id"], "done", result={})
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        elif request["action"] == "interrupt":
            engine.interrupted.set()
        elif request["action"] == "if_window_dies":
            keep_training = request["keep_training"]
        elif request["action"] == "quit":
            keep_training = False
            break
        else:
            requests.put(request)
    requests.put(None)
    if not detached and not keep_training:
        engine.ended = True
        if engine.current is not None:
            engine.current.control.request_stop()


def main() -> None:
    engine = FakeEngine()
    requests: queue.Queue[dict[str, Any] | None] = queue.Queue()
    reply(0, "ready", torch="2.0.fake", devices=["cpu"])
    threading.Thread(target=listen, args=(engine, requests), daemon=True).start()
    while (request := requests.get()) is not None:
        engine.answer(request)


if __name__ == "__main__":
    main()
