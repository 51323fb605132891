"""Of the columns of a table."""

from __future__ import annotations

from training.findings.rule import Rule

LEAK_ROWS, LEAKS = 30, 0.98
LEAKS_ALONE, FAR_BEHIND, REPEATS = 0.95, 0.3, 0.9
"""Of fewer training rows nothing is said. The skill is 0 of guessing and 1 of always being right."""
RIVAL, COPY = 0.9, 0.9995
MONOTONE = 0.975
TARGET_LEAK = Rule(
    "table.target_leak",
    "One column alone predicts the target",
    f"Half of the training rows, the other half predicted by one column alone (by equal cells, else by the nearest number): a skill of "
    f"{LEAKS:g} or more ({LEAKS_ALONE:g}, where no other column has more than {FAR_BEHIND:g}; {REPEATS:g} of a column that has no more values than there are classes, one of which is only in rows of one class), where 0 is guessing and 1 is always right (of numbers: of their ranks). The column repeats the target under other names, or is the one "
    f"from which it was computed.",
    "deepchecks (predictive power score 0.8), which honest columns reach",
    unless=f"It is the only column; another column that is no copy of it (below {COPY:g}, Spearman) reaches "
    f"{RIVAL:g}, too, so that the task is an easy one (a note); a number to predict rises or falls with the column in less than "
    f"{MONOTONE:g} (Spearman).",
    fix="dataset.ignored",
)

DISTINCT, DENSE = 0.99, 1.1
IDENTIFIER = Rule(
    "table.identifier",
    "A column names the rows",
    f"Whole numbers, {DISTINCT:.0%} of them different, in a range at most {DENSE:g} times as large as there are rows (a warning where they "
    "rise or fall from row to row, else a note); or in any range, where the column is called id, index, key, number or uuid.",
    "deepchecks (95 % distinct), with the order and the range as guards",
    unless="Its name speaks of time or age. Columns that number the rows from 0 or 1, that are called an id, and texts that differ in "
    "most rows, are left out before this; dataset.keep_columns keeps them without a word.",
    fix="dataset.ignored",
)
CONSTANT = Rule(
    "table.constant",
    "Columns never change",
    "A column has one number in all training samples: a note; a warning, where it has others in validation, or half of the columns are like that.",
    "TheDeepChecker (std 0)",
    unless="Columns of a table that are left out by themselves, which all are unless dataset.features names them.",
    fix="dataset.ignored, dataset.features",
)
RULES = (TARGET_LEAK, IDENTIFIER, CONSTANT)
