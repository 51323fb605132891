"""The laboratory's reports out of their templates."""

from __future__ import annotations

import time

from jinja2 import Environment, PackageLoader, StrictUndefined

import training


def render_report(template: str, **facts: object) -> str:
    """The text of a report; in a page (``.html.jinja``) the facts are escaped."""
    environment = Environment(
        loader=PackageLoader("training.laboratory", "templates"),
        autoescape=template.endswith(".html.jinja"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    when = time.strftime("%Y-%m-%d %H:%M")
    return environment.get_template(template).render(version=training.__version__, when=when, **facts)
