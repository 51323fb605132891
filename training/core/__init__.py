"""The loop done right, as text: what the engine calls, and what an exported script is made of.

It imports torch, numpy and the standard library, its readers also Pillow, polars and tokenizers, and nothing else of ours. Its
names are unique: a script holds the source of those that it uses, side by side.
"""

ORDER = (
    "step",
    "losses",
    "clip",
    "guard",
    "batch_plan",
    "counter_rng",
    "splits",
    "balance",
    "normalization",
    "durations",
    "schedules",
    "averaging",
    "evaluation",
    "scores",
    "kept_scores",
    "replace_file",
    "own.sample_draws",
    "readers.toys",
    "readers.idx_reading",
    "readers.image_reading",
    "readers.image_pixels",
    "readers.cell_reading",
    "readers.table_reading",
    "readers.moment_reading",
    "readers.byte_pairs",
    "readers.text_reading",
    "readers.prepared_reading",
    "own.returned",
    "own.samples",
)
"""The modules in the order in which they are best read."""
