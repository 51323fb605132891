"""What a screen reader finds in the program: its names, roles and values over AT-SPI, and its buttons pressed the same way.

https://www.freedesktop.org/wiki/Accessibility/AT-SPI2: every widget is an object on a bus of its own, whose address the session's bus tells.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from jeepney import DBusAddress, MessageType, new_method_call
from jeepney.io.blocking import DBusConnection, open_dbus_connection

_SECONDS = 30.0
_ACCESSIBLE = "org.a11y.atspi.Accessible"
_SHOWING = 25  # of the states of AT-SPI
_ENABLED = 8


class AwayError(Exception):
    """The object is gone, or does not know what was asked."""


@dataclass(frozen=True)
class Node:
    """An object of the program."""

    reader: Reader
    bus: str
    path: str

    def _call(self, interface: str, method: str, signature: str = "", *words: object) -> Any:
        return self.reader.call(self.bus, self.path, interface, method, signature, *words)

    def _read(self, name: str, interface: str = _ACCESSIBLE) -> Any:
        return self._call("org.freedesktop.DBus.Properties", "Get", "ss", interface, name)[1]

    @property
    def name(self) -> str:
        return str(self._read("Name"))

    @property
    def description(self) -> str:
        return str(self._read("Description"))

    @property
    def role(self) -> str:
        return str(self._call(_ACCESSIBLE, "GetRoleName"))

    @property
    def children(self) -> list[Node]:
        return [Node(self.reader, bus, path) for bus, path in self._call(_ACCESSIBLE, "GetChildren")]

    def _has(self, state: int) -> bool:
        words = self._call(_ACCESSIBLE, "GetState")
        return bool(words[state // 32] >> state % 32 & 1)

    @property
    def is_showing(self) -> bool:
        return self._has(_SHOWING)

    @property
    def is_enabled(self) -> bool:
        return self._has(_ENABLED)

    @property
    def text(self) -> str:
        """What can be read in it, letter by letter."""
        return str(self._call("org.a11y.atspi.Text", "GetText", "ii", 0, -1))

    def press(self) -> None:
        """Its first action, as a screen reader's user would."""
        self._call("org.a11y.atspi.Action", "DoAction", "i", 0)

    def walk(self) -> Iterator[Node]:
        """It and all that is in it and shown."""
        yield self
        try:
            children = self.children
        except AwayError:
            return
        for child in children:
            try:
                if child.is_showing:
                    yield from child.walk()
            except AwayError:
                continue


class Reader:
    """Reads the program that was started with ``environment``."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        with open_dbus_connection(environment["DBUS_SESSION_BUS_ADDRESS"]) as session:
            address = _ask(session, "org.a11y.Bus", "/org/a11y/bus", "org.a11y.Bus", "GetAddress", "")
        self._connection = open_dbus_connection(address)

    def close(self) -> None:
        self._connection.close()

    def call(self, bus: str, path: str, interface: str, method: str, signature: str, *words: object) -> Any:
        return _ask(self._connection, bus, path, interface, method, signature, *words)

    def find_program(self, name: str) -> Node:
        """Its root, once it is there."""
        registry = Node(self, "org.a11y.atspi.Registry", "/org/a11y/atspi/accessible/root")
        return self.wait(lambda: next((each for each in registry.children if each.name == name), None))

    def find(self, root: Node, role: str, name: str) -> Node:
        """What is shown below ``root`` of that role whose name begins so, once it is there."""
        return self.wait(lambda: next((each for each in root.walk() if _is(each, role, name)), None), f"{role} {name}")

    def wait(self, look: Callable[[], Node | None], what: str = "the program") -> Node:
        """What ``look`` finds, in time."""
        until = time.monotonic() + _SECONDS
        while time.monotonic() < until:
            try:
                if (found := look()) is not None:
                    return found
            except AwayError:
                pass
            time.sleep(0.1)
        raise AssertionError(f"a screen reader does not find {what}")


def _is(node: Node, role: str, name: str) -> bool:
    try:
        return node.role == role and node.name.startswith(name)
    except AwayError:
        return False


def _ask(
    connection: DBusConnection, bus: str, path: str, interface: str, method: str, signature: str, *words: object
) -> Any:
    message = new_method_call(DBusAddress(path, bus, interface), method, signature or None, words)
    try:
        answer = connection.send_and_get_reply(message, timeout=_SECONDS)
    except TimeoutError as error:
        raise AwayError(f"{interface}.{method} of {path}: no answer") from error
    if answer.header.message_type is MessageType.error:
        raise AwayError(f"{interface}.{method} of {path}: {answer.body}")
    return answer.body[0] if answer.body else None


@contextmanager
def desktop(base: Mapping[str, str]) -> Iterator[dict[str, str]]:
    """The environment of programs on a screen and a bus of their own, which end with it."""
    with ExitStack() as stack:
        read, write = os.pipe()
        screen = subprocess.Popen(
            ["Xvfb", "-displayfd", str(write), "-screen", "0", "1280x800x24", "-nolisten", "tcp"],
            pass_fds=[write],
            stderr=subprocess.DEVNULL,
        )
        stack.callback(_end, screen)
        os.close(write)
        with os.fdopen(read) as told:
            display = told.readline().strip()
        bus = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--print-address"],
            stdout=subprocess.PIPE,
            text=True,
            env=dict(base),
        )
        stack.callback(_end, bus)
        assert bus.stdout is not None
        with bus.stdout as told:
            address = told.readline().strip()
        yield {
            **base,
            "DISPLAY": f":{display}",
            "DBUS_SESSION_BUS_ADDRESS": address,
            "QT_QPA_PLATFORM": "xcb",
            "QT_LINUX_ACCESSIBILITY_ALWAYS_ON": "1",
        }


@contextmanager
def start_program(environment: Mapping[str, str], *words: str) -> Iterator[subprocess.Popen[bytes]]:
    """The window, ended with it."""
    process = subprocess.Popen([sys.executable, "-m", "studio", *words], env=dict(environment))
    try:
        yield process
    finally:
        _end(process)


def _end(process: subprocess.Popen[Any]) -> None:
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
