"""A row for each run. Indexes made before there were migrations have it already."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table where there is none."""
    if sa.inspect(op.get_bind()).has_table("run_records"):
        return
    op.create_table(
        "run_records",
        sa.Column("id", sa.String(255), nullable=False),
        sa.Column("name", sa.String(120), nullable=False),
        sa.Column("folder", sa.String, nullable=False),
        sa.Column("status", sa.String(20), nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("best_value", sa.Float, nullable=True),
        sa.Column("record", sa.String, nullable=False),
        sa.Column("check", sa.String(80), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_run_records"),
    )
    for column in ("name", "status", "created"):
        op.create_index(f"ix_run_records_{column}", "run_records", [column])


def downgrade() -> None:
    """Remove the table."""
    op.drop_table("run_records")
