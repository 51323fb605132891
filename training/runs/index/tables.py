"""The tables of the index, with plain columns: other programs may query them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Boolean, Float, Integer, MetaData, String, false
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

_NAMES = {
    "ix": "ix_%(column_0_label)s",
    "uq": "uq_%(table_name)s_%(column_0_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
"""A migration can name a constraint only where all databases call it the same."""


class Base(DeclarativeBase):
    """SQLAlchemy's registry of our tables."""

    metadata = MetaData(naming_convention=_NAMES)


class RunRow(Base):
    """One run; ``record`` is its whole status record as JSON, the other columns are for sorting and searching."""

    __tablename__ = "run_records"

    id: Mapped[str] = mapped_column(String(255), primary_key=True)
    name: Mapped[str] = mapped_column(String(120), index=True)
    folder: Mapped[str] = mapped_column(String)
    status: Mapped[str] = mapped_column(String(20), index=True)
    created: Mapped[float] = mapped_column(Float, index=True)
    step: Mapped[int] = mapped_column(Integer)
    best_value: Mapped[float | None] = mapped_column(Float, nullable=True)
    record: Mapped[str] = mapped_column(String)
    check: Mapped[str] = mapped_column(String(80))
    """Which writing of the status file the record was read from."""
    workspace: Mapped[str] = mapped_column(String, server_default="")
    """In a database that several use: "host:path" of the workspace that the run lies in."""
    history: Mapped[str] = mapped_column(String(200), server_default="")
    """Which writing of the run's events and checkpoints the rows of its epochs, settings and metrics were made of."""
    title: Mapped[str] = mapped_column(String(120), server_default="")
    """What the run is called: by a person, else by its configuration."""
    star: Mapped[bool] = mapped_column(Boolean, server_default=false())
    archived: Mapped[bool] = mapped_column(Boolean, server_default=false())
    notes: Mapped[str] = mapped_column(String, server_default="")
    about: Mapped[str] = mapped_column(String(200), server_default="")
    """Which writing of ``about.json`` these were read from."""
    dataset: Mapped[str] = mapped_column(String, server_default="")
    model: Mapped[str] = mapped_column(String, server_default="")
    parent: Mapped[str] = mapped_column(String(255), server_default="")
    epoch: Mapped[int] = mapped_column(Integer, server_default="0")
    duration: Mapped[float] = mapped_column(Float, server_default="0")
    data: Mapped[str] = mapped_column(String(80), server_default="", index=True)
    """The fingerprint of its data."""
    recipe: Mapped[str] = mapped_column(String(32), server_default="")
    """A digest of all settings but the seed: repeats of a run have the same."""


class EpochRow(Base):
    """One epoch of a run as it ended; ``epoch`` counts from 1, ``lr`` is the rate of its last step. NULL is what was not measured,
    or is no finite number; ``checkpoint`` is the folder saved at that step, while there is one."""

    __tablename__ = "training_history"

    run: Mapped[str] = mapped_column(String(255), primary_key=True)
    epoch: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    step: Mapped[int] = mapped_column(BigInteger)
    train_loss: Mapped[float | None] = mapped_column(Float, nullable=True)
    val_loss: Mapped[float | None] = mapped_column(Float, nullable=True)
    lr: Mapped[float | None] = mapped_column(Float, nullable=True)
    checkpoint: Mapped[str | None] = mapped_column(String, nullable=True)


class MetricRow(Base):
    """One metric at the end of an epoch, by its whole name ("val/accuracy"); NULL is no finite number."""

    __tablename__ = "training_metrics"

    run: Mapped[str] = mapped_column(String(255), primary_key=True)
    epoch: Mapped[int] = mapped_column(Integer, primary_key=True, autoincrement=False)
    name: Mapped[str] = mapped_column(String(120), primary_key=True, index=True)
    value: Mapped[float | None] = mapped_column(Float, nullable=True)


class SettingRow(Base):
    """One setting of a run by its whole name ("optimizer.lr"): a number, or a text ("true", "16, 16"); none for what is unset."""

    __tablename__ = "run_settings"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012 - how SQLAlchemy has it

    name: Mapped[str] = mapped_column(String(255), primary_key=True)
    run: Mapped[str] = mapped_column(String(255), primary_key=True, index=True)
    number: Mapped[float | None] = mapped_column(Float, nullable=True)
    text: Mapped[str | None] = mapped_column(String, nullable=True)


class FinalRow(Base):
    """One metric of a run by its whole name: the newest value, and the best; NULL is no finite number."""

    __tablename__ = "run_metrics"
    __table_args__ = {"sqlite_with_rowid": False}  # noqa: RUF012 - how SQLAlchemy has it

    name: Mapped[str] = mapped_column(String(120), primary_key=True)
    run: Mapped[str] = mapped_column(String(255), primary_key=True, index=True)
    last: Mapped[float | None] = mapped_column(Float, nullable=True)
    best: Mapped[float | None] = mapped_column(Float, nullable=True)


class TagRow(Base):
    """One tag of a run."""

    __tablename__ = "run_tags"

    run: Mapped[str] = mapped_column(String(255), primary_key=True)
    tag: Mapped[str] = mapped_column(String(40), primary_key=True)
