"""Writes docs/checks from the catalog, a page for each family: python tools/make_docs.py"""

from __future__ import annotations

from pathlib import Path

from torch_debugger.checks.base import Check
from torch_debugger.checks.catalog import FAMILIES, catalog, family, page

FOLDER = Path(__file__).parent.parent / "docs" / "checks"
ABOUT = {
    "setup": "how the parts of a training are put together: optimizer, gradients, modes, schedules, checkpoints",
    "data": "what the model is fed: batches, labels, their order, and what training and validation share",
    "activations": "layers that no longer carry a signal",
    "gradients": "gradients that vanish, explode or never come",
    "training": "the loss and the way it is minimised",
    "numerics": "NaN, Inf and numbers on their way there",
    "speed": "where time and memory are lost",
    "ranks": "several processes, workers of loaders, and runs that stand still",
    "crashes": "exceptions, explained by their frames, shapes and graph",
}
OPENING = """\
# The checks

Written by `make docs` from the docstrings in `torch_debugger/checks`; `torch-debugger explain NAME`
prints the same text. For every check, `zoo/<family>/<name>/` holds a script that has the fault
(`broken.py`), the edit that cures it (`fix.diff`), and a healthy one that looks much like it
(`lookalike.py`); the tests run them all.
"""


def documents() -> dict[str, str]:
    """By the name of the file: an index, and a page for each family."""
    pages = {"README.md": "\n".join([OPENING, *(_index(name) for name in FAMILIES)])}
    for name in FAMILIES:
        title = f"# Checks: {name}\n\nThis family is about {ABOUT[name]}. [All checks](README.md)\n"
        pages[f"{name}.md"] = "\n".join([title, *(_entry(check) for check in _members(name))])
    return pages


def _members(name: str) -> list[type[Check]]:
    return [check for check in catalog() if family(check) == name]


def _index(name: str) -> str:
    rows = [
        f"| {check.id} | [{check.name}]({name}.md#{check.name}) | {check.title} | {check.status} |"
        for check in _members(name)
    ]
    head = [
        f"## [{name}]({name}.md)\n\n{ABOUT[name]}\n",
        "| id | name | what is wrong | status |",
        "| --- | --- | --- | --- |",
    ]
    return "\n".join([*head, *rows, ""])


def _entry(check: type[Check]) -> str:
    text = page(check)
    lines = [f"## {check.name}", "", f"{check.id}, {check.status}. {text.summary}", ""]
    for heading, body in text.sections.items():
        lines += [f"**{heading}.** {body}", ""]
    if check.explains:
        lines += [f"**Explains.** {', '.join(check.explains)}", ""]
    return "\n".join(lines)


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, text in documents().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    print(f"{len(catalog())} checks written to {FOLDER.relative_to(FOLDER.parents[1])}")
