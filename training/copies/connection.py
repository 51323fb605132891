"""Whether copies can be written to a place, before a run is copied there."""

from __future__ import annotations

import secrets

from training.copies.places import open_store
from training.copies.settings import load_copy_settings, parse_address
from training.errors import InputError
from training.sidecars.faults import Away


def try_place(address: str) -> str:
    """Write a small file below ``address`` ("": that of the person's settings), read it back and delete it; returns the sentence that all
    is well. Raises TrainingError with one sentence where it is not."""
    address = address or load_copy_settings().to
    if not address:
        raise InputError("No address is given; write it as s3://bucket/folder, or name a folder.")
    store = open_store(parse_address(address))
    name, content = f"trainwright-test-{secrets.token_hex(4)}", secrets.token_bytes(64)
    store.replace(name, content)
    try:
        back = store.read(name, len(content))
    finally:
        store.remove([name])
    if back != content:
        raise Away(f"{store.address}: what was written there came back as something else; look at that storage.")
    return f"{store.address} takes copies: a small file was written, read back and deleted."
