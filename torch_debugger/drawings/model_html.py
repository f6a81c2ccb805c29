"""A model's drawing as one HTML file: modules open and close by a click; it needs nothing from outside."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

from torch_debugger.diagrams.lettering import escaped
from torch_debugger.drawings.model_svg import STYLE, TIP_MARKER

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"
_PAGE_STYLE = """
body { margin: 0; font: 14px system-ui, sans-serif; color: #1d2733 }
header { padding: 14px 18px 6px } h1 { font-size: 16px; margin: 0 0 4px } p { margin: 2px 0; color: #5c6b7a }
button { font: inherit; margin: 6px 6px 0 0; padding: 2px 10px; border: 1px solid #8c9aa8; border-radius: 6px;
  background: #f6f8fa; cursor: pointer }
.opens { cursor: pointer } .opens:focus { outline: none }
.opens:focus-visible rect, .box.opens:hover rect { stroke-width: 2 }
main { overflow-x: auto } .line:hover { stroke: #d1495b; stroke-width: 2.4 }
"""


def model_html(data: dict[str, Any]) -> str:
    title, *more = data["heading"]
    remarks = "".join(
        f"<p>{escaped(line)}</p>"
        for line in [*more, "Click a box with a second edge to open it, a title to close it."]
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}"><title>{escaped(title)}</title>'
        f"<style>{STYLE}{_PAGE_STYLE}</style></head><body><header><h1>{escaped(title)}</h1>{remarks}"
        '<button id="td-first">as at first</button><button id="td-close">close all</button></header>'
        f'<main><svg id="td-sheet" class="td-graph" xmlns="http://www.w3.org/2000/svg">{TIP_MARKER}</svg></main>'
        f'<script type="application/json" id="td-data">{_for_script(data)}</script>'
        f"<script>{page_script()}</script></body></html>\n"
    )


def page_script() -> str:
    """Of two files; the first is a module of the page of runs too, and its exports are plain functions here."""
    composing = (files("torch_debugger.diagrams") / "composing.js").read_text(encoding="utf-8")
    opening = (files("torch_debugger.drawings") / "opening.js").read_text(encoding="utf-8")
    return composing.replace("export function", "function") + opening


def _for_script(data: dict[str, Any]) -> str:
    """No name of the user's may end the script it stands in."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
