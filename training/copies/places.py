"""From an address to the store that lies there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from training.copies.settings import protocol_of
from training.copies.store import Store, explain_fault
from training.sidecars.faults import Refused, explain_missing


def open_store(address: str, folder: str = "") -> Store:
    """The ``folder`` in the place ``address``, or that itself. Raises Refused for one that cannot be used, Away where nobody
    answers."""
    from fsspec.core import url_to_fs  # loaded when something is copied

    on_s3 = protocol_of(address) in ("s3", "s3a")
    try:
        kind, options = _s3() if on_s3 else (Store, {})
        filesystem, root = url_to_fs(address, use_listings_cache=False, **options)
    except (ImportError, ValueError) as error:
        if on_s3 and isinstance(error, ImportError):
            raise explain_missing("s3fs", "s3") from error
        raise Refused(f"{address}: {str(error).removesuffix('.')}; choose an address that can be used here.") from error
    except OSError as error:  # some are called before anything is asked of them
        raise explain_fault(address, error) from error
    where = [each.rstrip("/") + (f"/{folder}" if folder else "") for each in (address, root)]
    store = kind(where[0], filesystem, where[1])
    store.check()
    return store


def _s3() -> tuple[type[Store], Mapping[str, Any]]:
    from training.copies.s3 import OPTIONS, Bucket, provide_s3_keys

    provide_s3_keys()
    return Bucket, OPTIONS
