"""The page of the help that lists every finding, made of the table: ``python -m tests.training.findings.help_page`` writes it."""

from __future__ import annotations

from pathlib import Path

from training.findings import FAMILIES, Rule

PAGE = Path(__file__).parents[3] / "resources" / "help" / "findings.md"
_INTRODUCTION = """# Findings

Check (Setup, or `python -m training check CONFIG.toml`) looks at settings, data, network and machine before a run, and trains nothing. What it
has to say is a *finding*: an error keeps a run from working, a warning is worth a look, a note is good to know. Each has a code; where it can be
found of several columns, parts or settings, the place comes after a colon: `table.target_leak:total`.

**Apply** in the window writes what a finding proposes into the settings, and can be undone. **Not a problem here** mutes it: its code, and its place, go to
*Muted findings* among the settings of the run, where it can be taken out again; Check says which are there. On the command line:

    python -m training check run.toml --fix table.target_leak --out better.toml
    python -m training check run.toml --mute table.identifier:zip --out better.toml

Neither changes `run.toml`, nor a file that is already there. Errors are never muted.

    python -m training check run.toml --fit-one-batch

trains the network on a few samples until it knows them by heart, in 20 seconds at most, and keeps nothing of it. A network that cannot do that will
not learn more of them: changes are then tried one at a time, and the one with which it can is named first.

At the start of each new run the warnings about settings, tables, parts and inputs are told by themselves: what takes more than a second or two, such as
copies of samples or a trial step, is left to Check.

While a run trains, its own records are looked at up to forty times, at validations where there are any. What two looks in a row find is told, with the
step at which it began, and so is that it is over once two looks do not find it any more. In warm-up (that of the schedule, at least 20 steps and 5 % of the
run) nothing but divergence and non-finite values is judged. What another finding explains is not told: a learning rate that was told of before the run
explains what follows from it, but no warning explains an error, and nothing does that was put away. A look takes about a millisecond and changes
nothing of the run; where steps are quick, every other one is left out unless something that was found hangs on it. Afterwards, of any run, finished or at work:

    python -m training doctor RUN
    python -m training doctor RUN --json

It looks again where the run was looked at, writes nothing, and ends with exit code 0 where it finds nothing above a note, 1 for a warning, 2 for an error
or a run that cannot be read.

What follows are all codes, each with the threshold from which on it is found.
"""


def make_page() -> str:
    """The text of the page."""
    parts = [_INTRODUCTION]
    for family, rules in FAMILIES.items():
        parts.append(f"\n## {family}\n")
        parts += [_describe(rule) for rule in rules]
    return "".join(parts)


def _describe(rule: Rule) -> str:
    said = [f"\n**{rule.title}** `{rule.code}`\n", f"- Found when: {rule.test}\n"]
    said += [f"- Not when: {rule.unless}\n"] if rule.unless else []
    said += [f"- Apply: {rule.fix}\n"] if rule.fix else []
    return "".join([*said, f"- Source: {rule.source}.\n"])


if __name__ == "__main__":
    PAGE.write_text(make_page(), encoding="utf-8")
