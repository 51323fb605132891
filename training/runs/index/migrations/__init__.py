"""How the tables of the index change from version to version, by alembic."""
