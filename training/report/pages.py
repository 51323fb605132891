"""Pages and texts out of templates."""

from __future__ import annotations

import time

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

import training


def render(package: str, template: str, **facts: object) -> str:
    """The text of a ``template`` of ``package``, which may use the parts that lie here; in a page (``.html.jinja``) the facts are escaped."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(name, "templates") for name in (package, "training.report")]),
        autoescape=template.endswith(".html.jinja"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    when = time.strftime("%Y-%m-%d %H:%M")
    return environment.get_template(template).render(version=training.__version__, when=when, **facts)
