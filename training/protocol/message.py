"""What all messages between the window and its engine have."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Message(BaseModel):
    """``id`` is a request's own number, and that of the request a reply is for."""

    model_config = ConfigDict(frozen=True, ser_json_inf_nan="constants")

    id: int = 0
