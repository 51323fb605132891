"""Campaign after campaign until so many kills were done."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import TypeVar

from tests.reliability.kills.campaign import Campaign, Outcome, Tell
from tests.reliability.kills.moments import KINDS
from tests.reliability.kills.scenarios import SCENARIOS, write_data

KILLS_PER_RUN = 9
Item = TypeVar("Item")


def kill_runs(kills: int, seed: int, jobs: int, overrides: Sequence[str], place: Path, tell: Tell) -> list[Outcome]:
    """Campaigns over the scenarios with ``overrides``, ``jobs`` at a time, until ``kills`` kills were done."""
    data = write_data(place / "data")
    random = Random(seed)
    kinds, scenarios = _shuffled_again_and_again(KINDS, random), _shuffled_again_and_again(SCENARIOS, random)
    per_run = min(KILLS_PER_RUN, math.ceil(kills / jobs))
    outcomes: list[Outcome] = []
    with ThreadPoolExecutor(jobs) as pool:
        while (left := kills - sum(len(outcome.kills) for outcome in outcomes)) > 0:
            campaigns: list[Campaign] = []
            for first in range(0, left, per_run):
                chosen = list(itertools.islice(kinds, min(per_run, left - first)))
                number = len(outcomes) + len(campaigns)
                own = Random(f"{seed}, {number}")
                scenario = next(scenarios).adjusted(*overrides)
                campaigns.append(Campaign(scenario, chosen, own, data, place / str(number), tell))
            outcomes += pool.map(Campaign.run, campaigns)
            if any(outcome.faults and not outcome.kills for outcome in outcomes):
                break  # a run that cannot be killed is broken; going on would not end
    return outcomes


def _shuffled_again_and_again(items: Sequence[Item], random: Random) -> Iterator[Item]:
    rounds: Iterable[list[Item]] = (random.sample(items, len(items)) for _ in itertools.count())
    return itertools.chain.from_iterable(rounds)
