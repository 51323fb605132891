"""The code in every ``model.json`` that uses the exported model without Trainwright.

Each module stands alone, imports nothing of ours, and is what the exports themselves are proven with.
"""
