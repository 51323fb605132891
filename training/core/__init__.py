"""The loop done right, as text: what the engine calls, and what an exported script is made of.

It imports torch, numpy and the standard library, its readers also Pillow, polars and tokenizers, and nothing else of ours. Its
names are unique: a script holds the source of those that it uses, side by side.
"""

__all__ = (
    "averaging",
    "balance",
    "batch_plan",
    "byte_pairs",
    "clip",
    "counter_rng",
    "evaluation",
    "guard",
    "idx_reading",
    "image_reading",
    "kept_scores",
    "losses",
    "normalization",
    "prepared_reading",
    "replace_file",
    "schedules",
    "scores",
    "splits",
    "step",
    "table_reading",
    "text_reading",
    "toys",
)
"""The modules in the order in which they are best read."""
