"""What is said of a run, its data's fingerprint, and rows of its settings, metrics and tags."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_TEXTS = {
    "title": 120,
    "dataset": None,
    "model": None,
    "parent": 255,
    "data": 80,
    "recipe": 32,
    "notes": None,
    "about": 200,
}
_SWITCHES = ("star", "archived")


def upgrade() -> None:
    """Add the tables and columns. The rows of every run count as behind, and are made from its folder at the next look."""
    with op.batch_alter_table("run_records") as table:
        for name, length in _TEXTS.items():
            table.add_column(sa.Column(name, sa.String(length), nullable=False, server_default=""))
        for name in _SWITCHES:
            table.add_column(sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false()))
        table.add_column(sa.Column("epoch", sa.Integer, nullable=False, server_default="0"))
        table.add_column(sa.Column("duration", sa.Float, nullable=False, server_default="0"))
        table.create_index("ix_run_records_data", ["data"])
    op.execute("UPDATE run_records SET title = name, history = ''")
    op.create_table(
        "run_settings",
        sa.Column("name", sa.String(255), nullable=False),
        sa.Column("run", sa.String(255), nullable=False),
        sa.Column("number", sa.Float, nullable=True),
        sa.Column("text", sa.String, nullable=True),
        sa.PrimaryKeyConstraint("name", "run", name="pk_run_settings"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "run_metrics",
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("run", sa.String(255), nullable=False),
        sa.Column("last", sa.Float, nullable=True),
        sa.Column("best", sa.Float, nullable=True),
        sa.PrimaryKeyConstraint("name", "run", name="pk_run_metrics"),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "run_tags",
        sa.Column("run", sa.String(255), nullable=False),
        sa.Column("tag", sa.String(40), nullable=False),
        sa.PrimaryKeyConstraint("run", "tag", name="pk_run_tags"),
    )
    for name in ("run_settings", "run_metrics"):
        op.create_index(f"ix_{name}_run", name, ["run"])


def downgrade() -> None:
    """Remove them; they are made again from the run folders."""
    for name in ("run_tags", "run_metrics", "run_settings"):
        op.drop_table(name)
    with op.batch_alter_table("run_records") as table:
        table.drop_index("ix_run_records_data")
        for name in (*_TEXTS, *_SWITCHES, "epoch", "duration"):
            table.drop_column(name)
