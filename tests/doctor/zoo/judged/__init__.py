"""The half of the zoo that is judged: written by somebody who knew the kinds of faults, and no rule or threshold of the doctor's."""
