"""moto's server, which speaks S3, for some tests: on this machine, in threads of this process, with a gate in front of it."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable
from typing import Any

import boto3
from moto import settings
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

BUCKET = "runs"
_LISTING = ("s3:ListBucket", "s3:GetObject", "s3:ListBucketMultipartUploads", "s3:ListMultipartUploadParts")


class QuietHandler(MotoRequestHandler):
    """Says nothing of each request."""

    def log(self, type: str, message: str, *arguments: Any) -> None:
        """Nothing."""


class Server:
    """Begun when made; ``stop`` and ``start`` take it away and bring it back with all it holds. ``let_through``: so many parts of files
    are taken, and the connections of others held."""

    def __init__(self) -> None:
        self._application = DomainDispatcherApplication(create_backend_app)
        self.port = 0
        self.let_through = 1 << 30
        self.parts = 0
        self._lock, self.taken, self._released = threading.Lock(), threading.Semaphore(0), threading.Event()
        self.start()

    def start(self) -> None:
        """Listen."""
        self._server = make_server("127.0.0.1", self.port, self._answer, True, request_handler=QuietHandler)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Refuse connections."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def release(self) -> None:
        """Let go of the connections that are held, and take all parts from now on."""
        self.let_through, self.parts = 1 << 30, 0
        self._released.set()

    def _answer(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        is_part = environ["REQUEST_METHOD"] == "PUT" and "partNumber=" in environ["QUERY_STRING"]
        if not is_part:
            return self._application(environ, start_response)
        with self._lock:
            self.parts += 1
            held = self.parts > self.let_through
        if held:
            self._released.wait()
            start_response("503 Service Unavailable", [])
            return []
        answer = list(self._application(environ, start_response))
        self.taken.release()
        return answer

    @property
    def address(self) -> str:
        """For ``AWS_ENDPOINT_URL``."""
        return f"http://127.0.0.1:{self.port}"

    def client(self, kind: str = "s3") -> Any:
        """Amazon's own client, who may do everything."""
        keys = {"aws_access_key_id": "owner", "aws_secret_access_key": "owner", "region_name": "us-east-1"}
        return boto3.client(kind, endpoint_url=self.address, **keys)

    def make_key(self, list_too: bool) -> tuple[str, str]:
        """A key that may not write, and list where that is said; only such keys are taken until ``open_up``."""
        iam = self.client("iam")
        name = f"user{len(iam.list_users()['Users'])}"
        iam.create_user(UserName=name)
        rule = {"Effect": "Allow", "Action": list(_LISTING) if list_too else ["s3:GetObject"], "Resource": "*"}
        policy = json.dumps({"Version": "2012-10-17", "Statement": [rule]})
        iam.put_user_policy(UserName=name, PolicyName="some", PolicyDocument=policy)
        made = iam.create_access_key(UserName=name)["AccessKey"]
        settings.INITIAL_NO_AUTH_ACTION_COUNT = 0
        return made["AccessKeyId"], made["SecretAccessKey"]

    def open_up(self) -> None:
        """Take every key."""
        settings.INITIAL_NO_AUTH_ACTION_COUNT = float("inf")
