"""The process in which an export is proven: ``python -m training.verify FILE`` ends standard output with one JSON object."""

import json
import sys
from pathlib import Path

from training.errors import TrainingError
from training.verify.check import check

if __name__ == "__main__":
    try:
        found = check(Path(sys.argv[1]), trust=True)
        answer = {"told": found.told, "faults": found.faults}
    except TrainingError as error:
        answer = {"told": {}, "faults": [str(error)]}
    sys.stdout.write(json.dumps(answer, default=float) + "\n")
