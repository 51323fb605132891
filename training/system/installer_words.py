"""What pip and uv say: what they are busy with, and why they failed. Standard library only: run.py asks before anything is installed."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Literal, NamedTuple

_NO_NETWORK = (
    r"NewConnectionError|name resolution|Name or service not known|getaddrinfo failed|Network is unreachable|"
    r"nodename nor servname|ConnectTimeout|ReadTimeout|Read timed out|Connection refused|Max retries exceeded|"
    r"dns error|error sending request"
)
_PASSWORD = r"\b407\b.*(Client Error|Authentication)|proxy authorization required"
_PROXY = r"ProxyError|tunnel error"
_HOST = r"host='([^']+)'|(?:Looking in indexes: |Failed to fetch: `?)https?://(?:[^@/\s]*@)?([^/:\s]+)"
_REFUSED = r"Could not fetch URL https?://(?:[^@/\s]*@)?([^/\s]+)\S*: (?!404)(\d{3} [A-Z][a-z]+ Error: .*?) for url"
_MISSING = (
    r"No matching distribution found for ([^\s;]+)|"
    r"Because (?:only |there (?:is|are) no versions? of )?([\w-]+)\S* (?:was not found|is available|has no wheels|and you)"
)


class Cause(NamedTuple):
    """``sentence`` has neither a capital nor a full stop; ``remedy`` is "" where it depends on who installs; ``name`` is the host, or the
    requirement that is missing."""

    kind: Literal["disk", "password", "proxy", "network", "certificate", "insecure", "refused", "missing"]
    sentence: str
    remedy: str = ""
    name: str = ""


def find_cause(told: str) -> Cause | None:
    """What an installer that said ``told`` has met with; None for anything that is not known."""
    host = _find(_HOST, told) or "the package index"
    if re.search(r"No space left on device|Errno 28|os error 28", told):
        return Cause("disk", "the disk is full")
    if re.search(_PASSWORD, told):
        remedy = "Give them in its address: HTTPS_PROXY=http://NAME:PASSWORD@HOST:PORT."
        return Cause("password", "the proxy wants a name and a password", remedy)
    if re.search(_PROXY, told):
        return _explain_proxy(told, host)
    if re.search(r"(?i)CERTIFICATE.VERIFY.FAILED|invalid peer certificate", told):
        remedy = "Check this computer's date and time; behind a company's proxy, set PIP_CERT to its certificate file."
        return Cause("certificate", f"{host} could not prove who it is", remedy)
    if re.search(_NO_NETWORK, told):
        return Cause("network", f"{host} cannot be reached", name=host)
    if insecure := _find(r"repository located at (\S+) is not a trusted or secure host", told):
        sentence = f"pip takes nothing from {insecure} over http, which anybody on the way could change"
        return Cause("insecure", sentence, "Name it with https://, or trust it: set PIP_TRUSTED_HOST to its name.")
    if refused := re.search(_REFUSED, told):
        return Cause("refused", f"{refused[1]} gives nothing: {refused[2]}")
    if missing := _find(_MISSING, told):
        version = ".".join(map(str, sys.version_info[:2]))
        return Cause("missing", f"{missing} is not to be had there for Python {version} on this system", name=missing)
    return None


def progress(line: str) -> tuple[str, bool] | None:
    """What an installer's line says it is doing, and whether that takes long; None for a line that says nothing new."""
    download = re.match(r"\s*Downloading (?:\S*/)?(\S+?)(?:-\d\S*)? \(([\d.]+) ?([kKMG]i?B)\)", line)
    if download:
        name, size, unit = download.groups()
        return f"downloading {name} ({size} {unit})", unit[0] == "G" or (unit[0] == "M" and float(size) >= 50)
    if line.startswith("Installing collected packages"):
        return "unpacking", True
    collect = re.match(r"\s*Collecting (\S+)", line)
    return (f"looking for {collect.group(1)}", False) if collect else None


def ask_for_more(name: str, python: str, environ: dict[str, str]) -> str:
    """Why ``name`` is missing: that an index gives nothing, and why, pip tells those alone who want to know everything. "" where there is a
    version of it, if only for others, or no pip."""
    name = re.split(r"[^\w.-]", name)[0]
    command = [python, "-m", "pip", "index", "versions", "-vv", "--retries", "0", name]
    try:
        done = subprocess.run(
            command, env=environ, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
    except OSError:
        return ""
    return f"{done.stdout}{done.stderr}" if done.returncode else ""


def last_words(told: str) -> str:
    """What a failed installer ended with: the lines that are errors, else the last ones, without anybody's password."""
    lines = [re.sub(r"//[^/\s]*@", "//", line) for line in told.strip().splitlines() if line.strip()]
    return "\n".join([line for line in lines if re.match(r"\s*(ERROR|[Ee]rror|cause)\b", line)][-5:] or lines[-15:])


def _explain_proxy(told: str, host: str) -> Cause:
    refused = _find(r"Tunnel connection failed: ([^'\"]+)", told)
    if refused or "tunnel error: unsuccessful" in told:
        return Cause("proxy", f"the proxy lets nobody through to {host}{f' ({refused})' if refused else ''}")
    return Cause("proxy", f"{host} cannot be reached: the proxy does not answer")


def _find(pattern: str, text: str) -> str:
    found = re.search(pattern, text)
    return next((group for group in found.groups() if group), "") if found else ""
