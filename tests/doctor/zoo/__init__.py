"""Runs with one planted fault each, their repaired twins, and healthy runs that only look odd.

``python -m tests.doctor.zoo run`` trains them all, ``validate`` shows that each planted fault does harm. What finds the faults is judged
elsewhere: a ``Case`` says which causes and which fixes count as right.
"""
