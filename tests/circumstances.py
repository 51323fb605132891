"""Run the suite as other people's machines would: ``python -m tests.circumstances [NAME[+NAME ...] ...] [-- pytest arguments]``.

Without names each circumstance is tried alone, one after the other; joined by ``+`` they hold at once, which takes a fraction
of the time. A table at the end tells what passed where; the exit code is 0 when all did. What cannot be had on this machine
(other instructions than the CPU has, another user without being root) is told in the table instead of being tried.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
PYTEST = [sys.executable, "-m", "pytest", "-n", "2", "-q", "-p", "no:cacheprovider"]
NOBODY = 65534
SEED = 20261122


@dataclass(frozen=True)
class Circumstance:
    """What is otherwise than here: variables, arguments of pytest, and how its process is started."""

    variables: Mapping[str, str] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    process: Mapping[str, int] = field(default_factory=dict)
    missing: Callable[[], str] = lambda: ""  # why it cannot be had here; "" where it can


@dataclass(frozen=True)
class Outcome:
    """What pytest counted; ``failures`` are names of tests, or the reason why none ran."""

    name: str
    tests: int
    skipped: int
    failures: Sequence[str]
    minutes: float

    @property
    def row(self) -> str:
        """A row of the table at the end."""
        passed = self.tests - self.skipped - len(self.failures)
        return (
            f"| {self.name} | {max(passed, 0):,} | {self.skipped:,} | {len(self.failures):,} | {self.minutes:.1f} min |"
        )


def _lacks_instructions() -> str:
    import torch  # not above: --help need not wait for it

    best = torch.backends.cpu.get_cpu_capability()
    return "" if best.startswith("AVX") else f"this CPU has {best}, no AVX2"


def _lacks_other_user() -> str:
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return "only root can become another user"
    try:
        subprocess.run([sys.executable, "-c", ""], user=NOBODY, group=NOBODY, extra_groups=[], check=True)
    except (OSError, subprocess.CalledProcessError):
        return f"another user may not start {sys.executable}"
    return ""


CIRCUMSTANCES = {
    "here": Circumstance(),
    "plain-instructions": Circumstance({"ATEN_CPU_CAPABILITY": "default"}),
    "avx2": Circumstance({"ATEN_CPU_CAPABILITY": "avx2"}, missing=_lacks_instructions),
    "one-thread": Circumstance({"OMP_NUM_THREADS": "1"}),
    "time-zone": Circumstance({"TZ": "Asia/Kathmandu"}),
    "c-locale": Circumstance({"LC_ALL": "C", "LANG": "C"}),
    "ordinary-user": Circumstance(process={"user": NOBODY, "group": NOBODY}, missing=_lacks_other_user),
    "strict-umask": Circumstance(process={"umask": 0o077}),
    "random-order": Circumstance(arguments=["--random-order", f"--random-order-seed={SEED}"]),
}


def run_suite(name: str, arguments: Sequence[str]) -> Outcome:
    """Run pytest with ``arguments`` under the circumstances in ``name``, joined by ``+``."""
    parts = [CIRCUMSTANCES[part] for part in name.split("+")]
    missing = "; ".join(filter(None, (part.missing() for part in parts)))
    if missing:
        return Outcome(name, 0, 0, [f"not tried: {missing}"], 0.0)
    place = Path(tempfile.mkdtemp(prefix="circumstances-"))
    try:
        return _run_in(place, name, parts, arguments)
    finally:
        shutil.rmtree(place, ignore_errors=True)


def _run_in(place: Path, name: str, parts: Sequence[Circumstance], arguments: Sequence[str]) -> Outcome:
    report, temporary = place / "report.xml", place / "tmp"
    temporary.mkdir()
    environ = {**os.environ, "QT_QPA_PLATFORM": "offscreen", "HOME": str(place), "TMPDIR": str(temporary)}
    process: dict[str, int] = {}
    more: list[str] = []
    for part in parts:
        environ |= part.variables
        process |= part.process
        more += part.arguments
    if "user" in process:
        for path in (place, temporary):
            os.chown(path, process["user"], process["group"])
    began = time.monotonic()
    command = [*PYTEST, f"--junitxml={report}", *more, *arguments]
    code = subprocess.run(
        command, cwd=CHECKOUT, env=environ, check=False, extra_groups=[] if "user" in process else None, **process
    ).returncode  # type: ignore[call-overload]
    minutes = (time.monotonic() - began) / 60
    if not report.is_file():
        return Outcome(name, 0, 0, ["pytest wrote no report; see above"], minutes)
    return _read_report(report, name, minutes, code)


def _read_report(report: Path, name: str, minutes: float, code: int) -> Outcome:
    cases = list(ElementTree.parse(report).iter("testcase"))
    failures = [
        f"{case.get('classname')}::{case.get('name')}"
        for case in cases
        if case.find("failure") is not None or case.find("error") is not None
    ]
    skipped = sum(case.find("skipped") is not None for case in cases)
    if not failures and code:  # no test ran, or pytest itself failed after some had
        failures = [f"pytest ended with exit code {code}; see above"]
    return Outcome(name, len(cases), skipped, failures, minutes)


def main(argv: Sequence[str]) -> int:
    """Returns 0 when every test passed under every circumstance that can be had here."""
    own, _, arguments = (argv[: argv.index("--")], "", argv[argv.index("--") + 1 :]) if "--" in argv else (argv, "", [])
    parser = argparse.ArgumentParser(
        prog="python -m tests.circumstances", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("names", nargs="*", metavar="NAME[+NAME ...]", help=", ".join(CIRCUMSTANCES))
    names = parser.parse_args(own).names or list(CIRCUMSTANCES)
    unknown = {part for name in names for part in name.split("+")} - set(CIRCUMSTANCES)
    if unknown:
        parser.error(f"unknown: {', '.join(sorted(unknown))}; there are {', '.join(CIRCUMSTANCES)}")
    outcomes = [run_suite(name, arguments) for name in names]
    print("\n| circumstances | passed | skipped | failed | time |\n|---|---|---|---|---|")
    for outcome in outcomes:
        print(outcome.row)
    for outcome in outcomes:
        for failure in outcome.failures:
            print(f"{outcome.name}: {failure}")
    return int(any(outcome.failures for outcome in outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
