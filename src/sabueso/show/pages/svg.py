"""Drawings as the templates take them: they are markup already."""

from __future__ import annotations

from typing import Any

from markupsafe import Markup

from ... import drawings


def line_chart(*args: Any) -> Markup:
    """See `drawings.line_chart`."""
    return Markup(drawings.line_chart(*args))


def bars(*args: Any) -> Markup:
    """See `drawings.bars`."""
    return Markup(drawings.bars(*args))


def matrix(*args: Any) -> Markup:
    """See `drawings.matrix`."""
    return Markup(drawings.matrix(*args))
