"""Sampled stacks as trees for the page: the user's lines below each other, libraries folded under them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.records import SampledStacks, StackNode
from torch_debugger.report.source import shown_path

_WHOLE = {"training": "training thread"}


@dataclass
class _Part:
    name: str
    about: str
    quiet: bool  # of a library
    samples: int = 0
    inside: dict[str, _Part] = field(default_factory=dict)

    def to_json(self, key: str) -> dict[str, Any]:
        order = sorted(self.inside.items(), key=lambda item: -item[1].samples)
        return {
            "key": key,
            "name": self.name,
            "about": self.about,
            "quiet": self.quiet,
            "samples": self.samples,
            "children": [part.to_json(inner) for inner, part in order],
        }


def sampled_of(run: Run) -> list[dict[str, Any]]:
    """Of each thread or worker the last that was told; the training's first."""
    last = {each.who: each for each in run.records(SampledStacks) if isinstance(each, SampledStacks)}
    folder = run.facts.run.folder if run.facts.run else None
    order = sorted(last.values(), key=lambda each: (each.who != "training", _number(each.who), each.who))
    return [_told(each, folder) for each in order if each.nodes]


def _told(stacks: SampledStacks, folder: str | None) -> dict[str, Any]:
    name = _WHOLE.get(stacks.who, stacks.who)
    return {
        "who": stacks.who,
        "name": name,
        "period_s": stacks.period_s,
        "root": _tree(stacks, name, folder).to_json(stacks.who),
    }


def _tree(stacks: SampledStacks, name: str, folder: str | None) -> _Part:
    root = _Part(name, "", quiet=False)
    for number, node in enumerate(stacks.nodes):
        if node.samples:
            _add(root, _way_to(stacks, number), node.samples, folder)
    return root


def _way_to(stacks: SampledStacks, number: int) -> list[StackNode]:
    """The user's lines from the outermost on; then the library's function that the last of them called, and the
    one in which the sample was taken. Libraries between two lines of the user's are left out."""
    owner = stacks.users_line(number)
    library: list[StackNode] = []
    while number >= 0 and number != owner:
        library.append(stacks.nodes[number])
        number = stacks.nodes[number].parent
    lines: list[StackNode] = []
    while number >= 0:
        lines += [stacks.nodes[number]] if stacks.nodes[number].is_users else []
        number = stacks.nodes[number].parent
    return [*reversed(lines), *library[:0:-1][:1], *library[:1]]


def _add(root: _Part, way: list[StackNode], samples: int, folder: str | None) -> None:
    root.samples += samples
    part = root
    for node in way:
        key = f"{node.place.file}:{node.place.line}" if node.is_users else node.function
        part = part.inside.setdefault(key, _part(node, folder))
        part.samples += samples


def _part(node: StackNode, folder: str | None) -> _Part:
    file = node.place.file or "?"
    if not node.is_users:
        return _Part(node.function, f"a function of {_library(file)}", quiet=True)
    code = f" {node.place.code}" if node.place.code else ""
    name = f"{os.path.basename(file)}:{node.place.line}{code}"
    return _Part(name, f"in {node.function}, {shown_path(file, folder)}:{node.place.line}", quiet=False)


def _library(file: str) -> str:
    """torch/optim/adam.py: from the folder on in which libraries lie."""
    for folder in ("site-packages", "dist-packages"):
        _, found, inside = file.replace(os.sep, "/").rpartition(f"/{folder}/")
        if found:
            return inside
    return os.path.basename(file)


def _number(who: str) -> int:
    number = who.rpartition(" ")[2]
    return int(number) if number.isdecimal() else 0
