"""What alembic runs for each migration: within the transaction of the connection it is handed."""

from alembic import context

from training.runs.index.tables import Base

if __name__ == "env_py":  # what alembic calls it; there is no context for anybody else
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=Base.metadata,
        render_as_batch=True,  # SQLite changes a table by making another one
    )
    with context.begin_transaction():
        context.run_migrations()
