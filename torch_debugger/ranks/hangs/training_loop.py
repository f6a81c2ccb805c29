"""The loops of the script in which its steps are made."""

from __future__ import annotations

import ast
from types import FrameType

from torch_debugger.anatomy.sources import is_user_file, nodes_of, tree_of
from torch_debugger.ranks.hangs.stacks import outwards


class TrainingLoop:
    def __init__(self) -> None:
        self._loops: set[tuple[str, int, int]] = set()  # of a file, from a line to a line
        self._steps = 0

    def note(self, frame: FrameType) -> None:
        """A step was made below these frames; looked at are the first, second, fourth, eighth, ..."""
        self._steps += 1
        if not self._steps & (self._steps - 1):
            for file, line in _users_lines(frame):
                self._loops |= {(file, first, last) for first, last in _loops_of(file) if first <= line <= last}

    def holds(self, frame: FrameType | None) -> bool:
        lines = _users_lines(frame)
        return any(
            file == loop and first <= line <= last
            for loop, first, last in self._loops for file, line in lines
        )  # fmt: skip


def _users_lines(frame: FrameType | None) -> list[tuple[str, int]]:
    """Up to the module that runs: whatever runs it may loop as well."""
    found = []
    for each in outwards(frame):
        if is_user_file(each.f_code.co_filename):
            found.append((each.f_code.co_filename, each.f_lineno))
        if each.f_code.co_name == "<module>":
            break
    return found


def _loops_of(file: str) -> list[tuple[int, int]]:
    tree = tree_of(file)
    nodes = nodes_of(tree) if tree is not None else ()
    loops = [node for node in nodes if isinstance(node, (ast.For, ast.AsyncFor, ast.While))]
    return [(node.lineno, node.end_lineno or node.lineno) for node in loops]
