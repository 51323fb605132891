"""MLflow: by its client's ``log_batch`` with the points' own times, so that what is sent a second time is what is there."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from training.errors import TrainingError
from training.runs.folder import RunFolder
from training.runs.records.series import Rows
from training.sidecars.faults import Away, Refused, explain_missing
from training.tracking.cursor import Cursor
from training.tracking.ledger import Measured
from training.tracking.settings import KEYS, MLflow
from training.tracking.target import STEP_METRICS

T = TypeVar("T")
_MOST_METRICS, _MOST_PARAMS = 1000, 100  # in one request
_MOST_LETTERS = 5000
_USER = KEYS["mlflow"][1]
_RUN_TAG = "trainwright.run"
_STATES = {"completed": "FINISHED", "failed": "FAILED"}


class _Server:
    """The client for one address, whose errors are told as ``target`` says."""

    def __init__(self, settings: MLflow) -> None:
        # Our own process waits and tries again: the client's many attempts would only hide that.
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
        os.environ.setdefault("MLFLOW_HTTP_REQUEST_TIMEOUT", "20")
        os.environ.setdefault("MLFLOW_SUPPRESS_PRINTING_URL_TO_STDOUT", "true")
        try:
            import mlflow
            import requests
        except ImportError as error:
            raise explain_missing("mlflow", "mlflow") from error
        self.fault: type[Exception] = mlflow.exceptions.MlflowException
        self._lost: type[OSError] = requests.RequestException
        self.url, self.entities = settings.url, mlflow.entities
        self.client: Any = mlflow.MlflowClient(tracking_uri=settings.url)

    def ask(self, request: Callable[[], T]) -> T:
        """What ``request`` gives; raises Away or Refused."""
        try:
            return request()
        except self._lost as error:  # of an artifact
            raise self._explain_lost(error) from error
        except ConnectionError as error:
            raise Away(f"{self.url} cannot be reached ({error.strerror or type(error).__name__}).") from error
        except OSError as error:  # a server that leaves files to its clients
            why = error.strerror or str(error)
            raise Refused(f"{self.url} keeps its files where they cannot be written from here ({why}).") from error
        except self.fault as error:
            raise self._explain(error) from error

    def _explain_lost(self, error: OSError) -> TrainingError:
        response = getattr(error, "response", None)
        if response is None or response.status_code >= 500:
            return Away(f"{self.url} cannot be reached ({_find_cause(error)}).")
        return Refused(f"{self.url} does not take files (error {response.status_code}); look at its artifact store.")

    def _explain(self, error: Exception) -> TrainingError:
        words = " ".join(str(error).split())[:300].removesuffix(".")
        cause = error.__cause__ or error.__context__
        if isinstance(cause, self._lost):
            return Away(f"{self.url} cannot be reached ({_find_cause(cause)}).")
        found = re.search(r"failed with error code (\d+)", words)  # an answer that is not MLflow's JSON
        code = int(found[1]) if found else int(getattr(error, "get_http_status_code", lambda: 500)())
        if code == 401:
            variables = " and ".join(_USER)
            return Refused(f"{self.url} refuses the key; set MLFLOW_TRACKING_TOKEN, or {variables}.")
        if code == 403:
            return Refused(f"{self.url} does not allow this to your user ({words}); ask its administrator.")
        if "not in a valid JSON format" in words or (found and code < 500 and code not in (408, 429)):
            return Refused(f"{self.url} answers, but is no MLflow server; correct url in trackers.toml.")
        if code in (408, 429) or code >= 500:
            return Away(f"{self.url} has a fault ({words}).")
        return Refused(f"{self.url} refuses what it is sent ({words}).")


def _find_cause(error: BaseException) -> str:
    """The last words of what a request died of: "Connection refused"."""
    while True:
        inner = getattr(error, "reason", None) or (error.args[0] if error.args else None)
        if not isinstance(inner, BaseException):
            break
        error = inner
    if "imed out" in str(error):
        return "no answer in time"
    return re.sub(r"^\[[^]]*\]\s*", "", str(error).rpartition(": ")[2].strip("()'\" ")) or type(error).__name__


class MLflowTarget:
    """A ``target.Target``. ``cursor.remote`` is the id of the run there."""

    def __init__(self, folder: RunFolder, settings: MLflow, cursor: Cursor) -> None:
        self._server = _Server(settings)
        self._ask, self._client, entities = self._server.ask, self._server.client, self._server.entities
        self._metric, self._param, self._tag = entities.Metric, entities.Param, entities.RunTag
        self._folder, self._cursor, self._experiment = folder, cursor, settings.experiment

    def open(self, settings: Mapping[str, str], tags: Mapping[str, str]) -> None:
        """Find or make the run; settings are said once, for they cannot be changed there."""
        cursor = self._cursor
        found = self._ask(self._find)
        if found is None:
            found = self._ask(self._make)
        run = str(found.info.run_id)
        if run != cursor.remote:  # never made, or deleted there since: all is sent
            cursor.remote, cursor.steps, cursor.measured, cursor.sent = run, 0, 0, {}
        cursor.link = f"{self._server.url.rstrip('/')}/#/experiments/{found.info.experiment_id}/runs/{run}"
        self._ask(lambda: self._client.update_run(run, status="RUNNING"))
        settings = {name: value for name, value in settings.items() if name not in found.data.params}
        params = [self._param(name, value[:_MOST_LETTERS]) for name, value in settings.items()]
        for first in range(0, len(params), _MOST_PARAMS):
            part = params[first : first + _MOST_PARAMS]
            self._ask(partial(self._client.log_batch, run, params=part))
        self._send_tags(tags)

    def _find(self) -> Any:
        """The run, else one with our tag: a kill may have come before the id of a new run was noted. None where there is neither."""
        if self._cursor.remote:
            try:
                known = self._client.get_run(self._cursor.remote)
            except self._server.fault as error:
                if getattr(error, "error_code", "") != "RESOURCE_DOES_NOT_EXIST":
                    raise
            else:
                if known.info.lifecycle_stage == "active":
                    return known
        place = self._client.get_experiment_by_name(self._experiment)
        same = place and self._client.search_runs([place.experiment_id], f"tags.`{_RUN_TAG}` = '{self._folder.id}'")
        return same[0] if same else None

    def _make(self) -> Any:
        found = self._client.get_experiment_by_name(self._experiment)
        experiment = found.experiment_id if found else self._client.create_experiment(self._experiment)
        record = self._folder.read_status()
        tags = {_RUN_TAG: self._folder.id}
        return self._client.create_run(experiment, int(record.created * 1000), tags, run_name=record.name or None)

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


def try_mlflow(settings: MLflow) -> str:
    """Ask the server for the experiment; returns the sentence that all is well, raises what a delivery would."""
    server = _Server(settings)
    found = server.ask(lambda: server.client.get_experiment_by_name(settings.experiment))
    there = "is there" if found else "is made with the first run"
    return f"MLflow answers at {settings.url}; the experiment {settings.experiment} {there}."
