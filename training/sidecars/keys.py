"""Keys of servers: from the environment or the system's keyring, never from a file of a run or of ours."""

from __future__ import annotations

import os
from collections.abc import Sequence

SERVICE = "Trainwright"


def provide_keys(variables: Sequence[str]) -> str:
    """Put what the keyring holds into this process's environment, where that has none of ``variables`` yet. Returns why the keyring
    could not be asked, "" where all is well or there is none."""
    missing = [name for name in variables if name not in os.environ]
    if not missing or len(missing) < len(variables):
        return ""
    try:
        import keyring
        from keyring.errors import KeyringError, NoKeyringError
    except ImportError:
        return ""
    try:
        for name in missing:
            if found := keyring.get_password(SERVICE, name):
                os.environ[name] = found
    except NoKeyringError:  # a server without a desktop
        return ""
    except KeyringError as error:
        return f"The system's keyring cannot be read ({error}); set {missing[0]} in the environment instead."
    return ""
