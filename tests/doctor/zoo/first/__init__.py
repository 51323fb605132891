"""The group that was judged first, on 27 November 2026, with the rules of fceced2c: written by somebody who knew the kinds of faults, and no
rule or threshold of the doctor's. Since then rules are tuned on it, too, and its figures say no more than those of the builders'."""
