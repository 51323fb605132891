"""A row for each epoch and each of its metrics, and of a run in which workspace it lies."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the tables and columns."""
    with op.batch_alter_table("run_records") as table:
        table.add_column(sa.Column("workspace", sa.String, nullable=False, server_default=""))
        table.add_column(sa.Column("history", sa.String(200), nullable=False, server_default=""))
    op.create_table(
        "training_history",
        sa.Column("run", sa.String(255), nullable=False),
        sa.Column("epoch", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("train_loss", sa.Float, nullable=True),
        sa.Column("val_loss", sa.Float, nullable=True),
        sa.Column("lr", sa.Float, nullable=True),
        sa.Column("checkpoint", sa.String, nullable=True),
        sa.PrimaryKeyConstraint("run", "epoch", name="pk_training_history"),
    )
    op.create_table(
        "training_metrics",
        sa.Column("run", sa.String(255), nullable=False),
        sa.Column("epoch", sa.Integer, autoincrement=False, nullable=False),
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("value", sa.Float, nullable=True),
        sa.PrimaryKeyConstraint("run", "epoch", "name", name="pk_training_metrics"),
    )
    op.create_index("ix_training_metrics_name", "training_metrics", ["name"])


def downgrade() -> None:
    """Remove them; they are made again from the run folders."""
    op.drop_table("training_metrics")
    op.drop_table("training_history")
    with op.batch_alter_table("run_records") as table:
        table.drop_column("history")
        table.drop_column("workspace")
