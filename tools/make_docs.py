"""Writes docs/checks.md from the catalog: python tools/make_docs.py"""

from __future__ import annotations

from pathlib import Path

from torch_debugger.checks.base import Check
from torch_debugger.checks.catalog import FAMILIES, catalog, family, page

DOCUMENT = Path(__file__).parent.parent / "docs" / "checks.md"

OPENING = """\
# The checks

Written by `make docs` from the docstrings in `torch_debugger/checks`; `torch-debugger explain NAME`
prints the same text. For every check, `zoo/<family>/<name>/` holds a script that has the fault
(`broken.py`), the edit that cures it (`fix.diff`), and a healthy one that looks much like it
(`lookalike.py`); the tests run them all.
"""


def document() -> str:
    members = {name: [check for check in catalog() if family(check) == name] for name in FAMILIES}
    blocks = [OPENING, _index(list(catalog()))]
    for name, checks in members.items():
        blocks += [f"## {name}\n", *(_entry(check) for check in checks)] if checks else []
    return "\n".join(blocks)


def _index(checks: list[type[Check]]) -> str:
    rows = [f"| {check.id} | [{check.name}](#{check.name}) | {check.title} | {check.status} |" for check in checks]
    return "\n".join(["| id | name | what is wrong | status |", "| --- | --- | --- | --- |", *rows, ""])


def _entry(check: type[Check]) -> str:
    text = page(check)
    lines = [f"### {check.name}", "", f"{check.id}, {check.status}. {text.summary}", ""]
    for heading, body in text.sections.items():
        lines += [f"**{heading}.** {body}", ""]
    if check.explains:
        lines += [f"**Explains.** {', '.join(check.explains)}", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    DOCUMENT.write_text(document(), encoding="utf-8")
    print(f"{len(catalog())} checks written to {DOCUMENT.name}")
