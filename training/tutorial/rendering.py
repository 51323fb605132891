"""Python source out of templates, and the imports that it needs."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined


@cache
def make_environment(package: str) -> Environment:
    """For the templates of ``package``, whose text is code; one for all, because it keeps them compiled."""
    return Environment(
        loader=PackageLoader(package),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )


def choose_imports(listed: str, used: set[str]) -> str:
    """Of the import statements ``listed`` what the names ``used`` need; a line for each module that is imported whole. Blank lines
    part groups."""
    groups: list[str] = []
    for block in listed.strip().split("\n\n"):
        lines = []
        for line in block.split("\n"):
            module, _, names = line.partition("import ")
            chosen = [name for name in names.split(", ") if name.rpartition(" ")[2] in used]
            if module and chosen:
                lines.append(f"{module}import {', '.join(chosen)}")
            else:
                lines += [f"import {name}" for name in chosen]
        if lines:
            groups.append("\n".join(lines))
    return "\n\n".join(groups)
