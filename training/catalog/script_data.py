"""How the script of a run gets its samples."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import JsonValue

READ_BY_SCRIPTS = frozenset({"image_folder", "idx", "table", "text", "spiral", "moons", "circles", "blobs"})
"""The kinds of data that a script reads or makes by itself; of any other a file with the samples lies beside it."""
LARGE_DATA = 2 * 10**9
"""Bytes of samples beyond which such a file is written only when that was asked for."""


def bytes_beside(report: Mapping[str, JsonValue]) -> int:
    """Bytes of the samples that lie beside the script of a run, by the run's ``report`` of its data; 0 for none, and where
    the report does not tell."""
    batches = report.get("batches")
    size = batches.get("bytes") if isinstance(batches, dict) else None
    return size if report.get("kind") not in READ_BY_SCRIPTS and isinstance(size, int) else 0
