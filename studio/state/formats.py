"""Numbers as people read them."""

from __future__ import annotations

import math
import time
from functools import cache

from training import catalog
from training.errors import format_number as format_number
from training.errors import format_percent as format_percent
from training.metric_names import is_known, is_share, metric


def format_metric(name: str, value: float) -> str:
    """Shares (accuracy) in percent, everything else as a number."""
    if is_share(name) and math.isfinite(value):
        return format_share(value)
    return format_number(value)


def format_share(value: float) -> str:
    """In percent, with two decimals."""
    return f"{value:.2%}"


def metric_title(name: str) -> str:
    """ "val/accuracy" as "validation accuracy"."""
    if name == "train/loss":  # batches have one, too
        return "training loss (epoch mean)"
    where, _, quantity = name.rpartition("/")
    split, _, target = where.partition("/")  # the target, where there are several
    quantity = metric(name).title if is_known(name) else quantity.replace("_", " ")
    if not quantity[1:2].isupper() and quantity[1:2].isalpha():  # F1, AUROC and R² stay as they are
        quantity = quantity[0].lower() + quantity[1:]
    part = {"val": "validation", "train": "training"}.get(split, split)
    return " ".join(word for word in (part, target, quantity) if word)


@cache  # asked for each of ten thousand runs
def kind_title(section: str, kind: str) -> str:
    """How people call a kind of ``section``; the name itself where the catalog has none such ("resnet18")."""
    return next((entry.title for entry in catalog.entries(section) if entry.kind == kind), kind)


def format_rate(samples_per_second: float) -> str:
    """Throughput without the unit."""
    return f"{samples_per_second:,.0f}" if samples_per_second >= 10 else f"{samples_per_second:.1f}"


def format_ago(moment: float, now: float) -> str:
    """ "just now", "5 min ago", "yesterday 14:05", "3 Mar 2026"."""
    age = now - moment
    if age < 60:
        return "just now"
    if age < 3600:
        return f"{int(age // 60)} min ago"
    then, today = time.localtime(moment), time.localtime(now)
    if then[:3] == today[:3]:
        return f"today {time.strftime('%H:%M', then)}"
    if then[:3] == time.localtime(now - 86400)[:3]:
        return f"yesterday {time.strftime('%H:%M', then)}"
    return f"{then.tm_mday} {time.strftime('%b %Y', then)}"
