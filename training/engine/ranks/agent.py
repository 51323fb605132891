"""``python -m training.engine.ranks.agent``: torch's launcher, quiet about what is told elsewhere."""

from __future__ import annotations

import logging
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from torch.distributed import run
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError

from training.launch.torchrun import PLACE, SUPERVISOR, call_when_orphaned, find_process, tell_lost


def main(words: Sequence[str]) -> int:
    """Start the processes and wait for them. Where the process that supervises this is gone, the run is stopped and kept."""
    logging.disable(logging.ERROR)  # some of torch's loggers have a level of their own
    supervisor = int(os.environ[SUPERVISOR])
    call_when_orphaned(lambda: os.kill(find_process() or os.getpid(), signal.SIGTERM), supervisor)
    try:
        run.main(list(words))
    except ChildFailedError as error:
        number, failure = error.get_first_failure()
        logs = Path(os.environ[PLACE], "logs").glob(f"*/attempt_0/{number}/stderr.log")
        tell_lost(number, failure.exitcode, str(next(iter(sorted(logs)), "")))
        return 1
    except SignalException:
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
