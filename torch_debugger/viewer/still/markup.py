"""HTML in which nothing that came from a run can be anything but text."""

from __future__ import annotations

import html

from torch_debugger.report.printable import printable


class Markup(str):
    """What is HTML already. Every other text is escaped where it is put in."""

    __slots__ = ()


def element(tag: str, *children: str | None, **attributes: str | float | None) -> Markup:
    """<tag attribute="...">children</tag>; an attribute's underscores are hyphens, None leaves a thing out."""
    given = "".join(_attribute(name, value) for name, value in attributes.items() if value is not None)
    return Markup(f"<{tag}{given}>{together(*children)}</{tag}>")


def together(*children: str | None, between: str = "") -> Markup:
    return Markup(between.join(_safe(child) for child in children if child is not None))


def _attribute(name: str, value: str | float) -> str:
    text = html.escape(printable(value)) if isinstance(value, str) else f"{value:g}"
    return f' {name.rstrip("_").replace("_", "-")}="{text}"'


def _safe(child: str) -> str:
    """Characters that steer or reorder text are written out, so that a name cannot look like another."""
    return child if isinstance(child, Markup) else html.escape(printable(child))
