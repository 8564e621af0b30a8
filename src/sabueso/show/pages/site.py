"""The templates and assets, and how they are filled: every text from a run is escaped, and no template holds a style or script of its own."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup, escape

from .. import phrases

HERE = Path(__file__).parent
SCRIPTS = ("vendor/uPlot.iife.min.js", "charts.js")
STYLES = ("vendor/uPlot.min.css", "pages.css")
SCREENS = ("culprit", "signals", "data", "model", "environment", "facts")


@cache
def environment() -> jinja2.Environment:
    """The templates; a name that is missing is an error rather than an empty place."""
    made = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"), autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    made.filters |= {"number": phrases.number, "prose": prose, "size": size, "json": lambda v: json.dumps(v, default=str), "slug": slug}
    return made


def render(template: str, link: Callable[..., str], **context: Any) -> str:
    """One page. `link(screen, *rest)` gives the address of a screen: a path of the server, or an anchor in the report."""
    return environment().get_template(template).render(link=link, screens=SCREENS, **context)


def asset(name: str) -> str:
    """The text of one file of assets/."""
    return (HERE / "assets" / name).read_text(encoding="utf-8")


def prose(text: object) -> Markup:
    """A sentence or remedy: `code` between backticks, indented lines as a block of code, all else escaped."""
    parts, block = [], []
    for line in [*str(text).splitlines(), None]:
        if line is not None and line.startswith("    "):
            block.append(line[4:])
            continue
        if block:
            parts.append(Markup('<pre class="edit">{}</pre>').format("\n".join(block)))
            block = []
        if line:
            parts.append(Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(line)))) + Markup(" "))
    return Markup("").join(parts)


def size(count: float) -> str:
    """12 MB, 3.4 GB."""
    for unit in ("B", "KB", "MB"):
        if abs(count) < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def slug(text: object) -> str:
    """Of any text what may stand in an address or an id."""
    return re.sub(r"[^A-Za-z0-9_.-]+", "-", str(text)).strip("-")[:80] or "x"
