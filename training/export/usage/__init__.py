"""What the ``model.py`` beside an export is made of: one module for each format, and what all of them read and answer.

Their functions stand alone, and each export is proven by its own copy of them.
"""
