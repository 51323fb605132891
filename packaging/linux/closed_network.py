"""A network that has nothing but a proxy: a namespace with a loopback alone, where one port is answered from outside. Linux, as root."""

from __future__ import annotations

import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

PORT = 3128
_HOLD = "ip link set lo up && echo ready && exec sleep infinity"
_LISTEN = f"""
import socket
server = socket.create_server(("127.0.0.1", {PORT}))
socket.send_fds(socket.socket(fileno=0), [b"listening"], [server.fileno()])
"""


@contextmanager
def closed_network() -> Iterator[tuple[list[str], list[str]]]:
    """The words before a command that put it into the namespace, and the hosts that the proxy was asked for, as they come."""
    with subprocess.Popen(["unshare", "--net", "sh", "-c", _HOLD], stdout=subprocess.PIPE) as holder:
        try:
            assert holder.stdout is not None
            holder.stdout.readline()
            enter = ["nsenter", f"--net=/proc/{holder.pid}/ns/net"]
            asked: list[str] = []
            with _listen(enter) as server:
                Thread(target=_accept, args=(server, asked), daemon=True).start()
                yield enter, asked
        finally:
            holder.kill()


def _listen(enter: list[str]) -> socket.socket:
    """A socket belongs to the namespace that it was made in, whoever holds it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        subprocess.run([*enter, sys.executable, "-c", _LISTEN], stdin=theirs, check=True)
        _, (descriptor,), _, _ = socket.recv_fds(ours, 64, 1)
    return socket.socket(fileno=descriptor)


def _accept(server: socket.socket, asked: list[str]) -> None:
    while True:
        try:
            client, _ = server.accept()
        except OSError:  # closed
            return
        Thread(target=_serve, args=(client, asked), daemon=True).start()


def _serve(client: socket.socket, asked: list[str]) -> None:
    """One tunnel: CONNECT HOST:PORT, headers, an empty line, then whatever the two have to say."""
    with client, client.makefile("rb", buffering=0) as lines:
        words = lines.readline().decode("latin-1").split()
        while lines.readline().strip():
            pass
        if len(words) != 3 or words[0] != "CONNECT":
            client.sendall(b"HTTP/1.1 501 Tunnels only\r\n\r\n")
            return
        asked.append(words[1])
        host, _, port = words[1].rpartition(":")
        try:
            target = socket.create_connection((host, int(port)), timeout=30)
        except OSError:
            client.sendall(b"HTTP/1.1 502 Bad Gateway\r\n\r\n")
            return
        with target:
            client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            _carry(client, target)


def _carry(client: socket.socket, target: socket.socket) -> None:
    other = {client: target, target: client}
    try:
        while True:
            for ready in select.select(list(other), [], [])[0]:
                piece = ready.recv(1 << 16)
                if not piece:
                    return
                other[ready].sendall(piece)
    except OSError:  # one of them went away
        return
