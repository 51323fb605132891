"""The tables of what was judged: k of n, how sure that is, and each miss by its name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tests.doctor.zoo.judge import Judgement, Opinion, Record
from tests.doctor.zoo.kinds import KINDS
from tests.doctor.zoo.opponents import OPPONENTS, Answers
from training.statistics.intervals import wilson


def write_tables(
    cases: Sequence[Judgement],
    healthy: Mapping[str, Opinion],
    answers: Mapping[str, Answers],
    reasons: Mapping[str, str],
    minutes: float,
) -> str:
    """All of it as Markdown."""
    sound = len(cases) + len(healthy)
    alarms = [*(bool(case.alarms) for case in cases), *(bool(each.findings) for each in healthy.values())]
    curable = [case for case in cases if case.cured is not None]
    rows = [
        ("noticed", [case.noticed for case in cases]),
        ("cause named by the first finding", [case.named for case in cases]),
        ("cause named by any finding", [case.anywhere for case in cases]),
        ("fix of the first finding right", [case.right_fix for case in cases]),
        ("cured by it, of those that a setting can cure", [bool(case.cured) for case in curable]),
        ("better by it, of those", [bool(case.helped) for case in curable]),
        ("twins and healthy runs with a finding above a note", alarms),
    ]
    lines = ["| what | k of n | 95 % (Wilson) |", "|---|---|---|"]
    lines += [f"| {name} | {_count(values)} |" for name, values in rows]
    lines += ["", *_kinds(cases), "", *_opponents(cases, healthy, answers, reasons), ""]
    misses = [f"* {case.case} ({', '.join(case.causes)}): {words}" for case in cases if (words := describe_miss(case))]
    misses += [f"* {name} (healthy): {describe_miss(each)}" for name, each in healthy.items() if each.findings]
    lines += [f"{len(misses)} of {sound} with a miss:", *misses, "", f"{minutes:.1f} minutes by the clock."]
    return "\n".join(lines) + "\n"


def describe_miss(told: Judgement | Opinion) -> str:
    """What is not as it should be; "" where all is."""
    if isinstance(told, Opinion):
        return f"false alarm {_codes(told.findings)}" if told.findings else ""
    words = []
    if not told.noticed:
        words.append("not noticed")
    elif not told.named:
        words.append(f"{'named later' if told.anywhere else 'not named'}: {_codes(told.findings)}")
    if told.noticed and not told.right_fix:
        words.append(f"fix not right: {dict(told.findings[0]['fix']) or 'none'}")
    if told.noticed and told.cured is False:
        words.append("helped, not cured" if told.helped else "not cured")
    if told.alarms:
        words.append(f"false alarm of the twin: {_codes(told.alarms)}")
    return "; ".join(words)


def _codes(findings: Iterable[Record]) -> str:
    return ", ".join(
        f"{item['code']}{':' if item['place'] else ''}{item['place']} ({item['when']})" for item in findings
    )


def _count(values: Sequence[bool]) -> str:
    found = wilson(sum(values), len(values))
    return f"{sum(values)} of {len(values)} | {found.low:.1%} to {found.high:.1%}"


def _kinds(cases: Sequence[Judgement]) -> list[str]:
    lines = ["| kind | cases | noticed | named | fix right | cured |", "|---|---|---|---|---|---|"]
    for kind in KINDS:
        some = [case for case in cases if case.kind == kind]
        if some:
            curable = [case for case in some if case.cured is not None]
            told = (
                sum(case.noticed for case in some),
                sum(case.named for case in some),
                sum(case.right_fix for case in some),
            )
            cured = f"{sum(bool(case.cured) for case in curable)} of {len(curable)}"
            lines.append(f"| {kind} | {len(some)} | {told[0]} | {told[1]} | {told[2]} | {cured} |")
    return lines


def _opponents(
    cases: Sequence[Judgement],
    healthy: Mapping[str, Opinion],
    answers: Mapping[str, Answers],
    reasons: Mapping[str, str],
) -> list[str]:
    lines = ["| program | noticed | named first | twins and healthy with an alarm |", "|---|---|---|---|"]
    ours = [bool(case.alarms) for case in cases] + [bool(each.findings) for each in healthy.values()]
    lines.append(_line("Trainwright", [case.noticed for case in cases], [case.named for case in cases], ours))
    for name, causes in OPPONENTS.items():
        if name in reasons:
            lines.append(f"| {name} | {reasons[name]} | | |")
            continue
        told = {(animal, part): said.get(name, ()) for animal, parts in answers.items() for part, said in parts.items()}
        firsts = [(case, said[0]) for case in cases if (said := told[case.case, "case"])]
        noticed = [bool(told[case.case, "case"]) for case in cases]
        named = [bool(set(causes.get(first, ())) & set(case.causes)) for case, first in firsts]
        named += [False] * (len(cases) - len(named))
        alarms = [bool(told[case.case, "twin"]) for case in cases] + [bool(told[each, "healthy"]) for each in healthy]
        lines.append(_line(name, noticed, named, alarms))
    return lines


def _line(name: str, *counts: Sequence[bool]) -> str:
    return f"| {name} | {' | '.join(_count(values).replace(' | ', ' (') + ')' for values in counts)} |"
