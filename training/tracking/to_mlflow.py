"""MLflow: by its client's ``log_batch`` with the points' own times, so that what is sent a second time is what is there."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from training.runs.folder import RunFolder
from training.runs.records.series import Rows
from training.sidecars.faults import Away, Refused, explain_missing
from training.tracking.cursor import Cursor
from training.tracking.ledger import Measured
from training.tracking.settings import MLflow, place_of
from training.tracking.target import STEP_METRICS

T = TypeVar("T")
_MOST_METRICS, _MOST_PARAMS = 1000, 100  # in one request
_MOST_LETTERS = 5000
_RUN_TAG = "trainwright.run"
_STATES = {"completed": "FINISHED", "failed": "FAILED"}


class MLflowTarget:
    """A ``target.Target``. ``cursor.remote`` is the id of the run there."""

    def __init__(self, folder: RunFolder, settings: MLflow, cursor: Cursor) -> None:
        # Our own process waits and tries again: the client's many attempts would only hide that.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
        os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
        try:
            import mlflow
            from mlflow.entities import Metric, Param, RunTag
        except ImportError as error:
            raise explain_missing("mlflow", "mlflow") from error
        self._fault: type[Exception] = mlflow.exceptions.MlflowException
        self._metric, self._param, self._tag = Metric, Param, RunTag
        self.place, self._folder, self._cursor = place_of(settings, folder), folder, cursor
        self._experiment = settings.experiment
        self._client = mlflow.MlflowClient(tracking_uri=settings.url)

    def open(self, settings: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Find or make the run; settings are said once."""
        if not self._cursor.remote:
            self._cursor.remote = self._ask(self._find_or_make)
        run = self._cursor.remote
        self._ask(lambda: self._client.update_run(run, status="RUNNING"))
        params = [self._param(name, value[:_MOST_LETTERS]) for name, value in settings.items()]
        for first in range(0, len(params), _MOST_PARAMS):
            part = params[first : first + _MOST_PARAMS]
            self._ask(partial(self._client.log_batch, run, params=part))
        self._send_tags(tags)

    def _find_or_make(self) -> str:
        """A kill may have come before the id of a new run was noted."""
        found = self._client.get_experiment_by_name(self._experiment)
        experiment = found.experiment_id if found else self._client.create_experiment(self._experiment)
        same = self._client.search_runs([experiment], f"tags.`{_RUN_TAG}` = '{self._folder.id}'")
        if same:
            return str(same[0].info.run_id)
        record = self._folder.read_status()
        tags = {_RUN_TAG: self._folder.id}
        made = self._client.create_run(experiment, int(record.created * 1000), tags, run_name=record.name or None)
        return str(made.info.run_id)

    def send_points(self, rows: Rows) -> None:
        """In requests of a thousand numbers."""
        metrics = [
            self._metric(tag, float(row[name]), int(row["time"] * 1000), int(row["step"]))
            for row in rows
            for tag, name in STEP_METRICS.items()
        ]
        self._send(metrics)

    def send_measured(self, items: Sequence[Measured]) -> None:
        """Likewise."""
        self._send(
            [
                self._metric(name, value, int(item.time * 1000), item.step)
                for item in items
                for name, value in item.metrics.items()
            ]
        )

    def _send(self, metrics: list[Any]) -> None:
        for first in range(0, len(metrics), _MOST_METRICS):
            part = metrics[first : first + _MOST_METRICS]
            self._ask(partial(self._client.log_batch, self._cursor.remote, metrics=part))

    def _send_tags(self, tags: Mapping[str, str]) -> None:
        sent = [self._tag(name, value[:_MOST_LETTERS]) for name, value in tags.items()]
        self._ask(lambda: self._client.log_batch(self._cursor.remote, tags=sent))

    def send_file(self, name: str, content: bytes) -> None:
        """As an artifact."""
        self._send_artifact(name, content, None)

    def send_image(self, name: str, step: int, png: bytes) -> None:
        """As an artifact whose name tells the step."""
        self._send_artifact(f"{name}-step-{step:08d}.png", png, "images")

    def _send_artifact(self, name: str, content: bytes, folder: str | None) -> None:
        with tempfile.TemporaryDirectory() as place:
            path = Path(place) / name
            path.write_bytes(content)
            self._ask(lambda: self._client.log_artifact(self._cursor.remote, str(path), folder))

    def forget_from(self, step: int) -> None:
        """MLflow keeps what it has: the numbers computed again stand beside them, with later times."""

    def commit(self) -> None:
        """Each request was."""

    def end(self, final: Mapping[str, str]) -> None:
        """Tags, and the state."""
        self._send_tags({f"trainwright.final.{name}": value for name, value in final.items()})
        state = _STATES.get(final["status"], "KILLED")
        self._ask(lambda: self._client.set_terminated(self._cursor.remote, state))

    def close(self) -> None:
        """Nothing is open between requests."""

    def _ask(self, request: Callable[[], T]) -> T:
        try:
            return request()
        except OSError as error:  # requests' own errors are such
            raise Away(f"{self.place} cannot be reached ({type(error).__name__}).") from error
        except self._fault as error:
            code = error.get_http_status_code() if hasattr(error, "get_http_status_code") else 500
            words = str(error).splitlines()[0][:300]
            if code in (401, 403):
                raise Refused(
                    f"{self.place} refuses the key; set MLFLOW_TRACKING_TOKEN, or a user and password."
                ) from error
            if code in (408, 429) or code >= 500:
                away = "Max retries exceeded" in words or "timed out" in words.lower()
                raise Away(f"{self.place} {'cannot be reached.' if away else f'has a fault: {words}'}") from error
            raise Refused(f"{self.place} refuses what it is sent: {words}") from error
