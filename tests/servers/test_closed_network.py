"""The network that bare roots set up in: nothing is reached but through the proxy, which says what it was asked for."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.package_index import serve

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(
        sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("ip"),
        reason="needs root on Linux, and iproute2",
    ),
]
ASK = """
import socket, sys
port, tunnel = int(sys.argv[1]), sys.argv[2]
server = socket.create_connection(("127.0.0.1", port), timeout=10)
if tunnel:
    server.sendall(f"CONNECT {tunnel} HTTP/1.1\\r\\nHost: {tunnel}\\r\\n\\r\\n".encode())
    assert b"200" in server.recv(4096)
server.sendall(b"GET /page HTTP/1.0\\r\\n\\r\\n")
print(server.makefile("rb").read().decode())
"""


def test_only_what_the_proxy_lets_through_is_reached(tmp_path: Path) -> None:
    file = Path(__file__).parents[2] / "packaging" / "linux" / "closed_network.py"
    spec = importlib.util.spec_from_file_location("closed_network", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "page").write_text("a page of this machine")
    with serve(tmp_path) as address, module.closed_network() as (enter, asked):
        port = address.rpartition(":")[2]
        words = [*enter, sys.executable, "-c", ASK]
        direct = subprocess.run([*words, port, ""], capture_output=True, text=True, check=False)
        assert "ConnectionRefusedError" in direct.stderr
        assert asked == []
        tunnel = f"127.0.0.1:{port}"
        through = subprocess.run([*words, str(module.PORT), tunnel], capture_output=True, text=True, check=False)
        assert "a page of this machine" in through.stdout, through.stderr
        assert asked == [tunnel]
