"""Which parts of a model are open: as many as can be read, equal ones alike, or those asked for."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable
from itertools import groupby

from torch_debugger.diagrams.parts import MODEL, Part
from torch_debugger.errors import UsageError
from torch_debugger.records.op_graph import MODULE, OPERATION, GraphModule

MOST_BOXES = 150


class Openings:
    def __init__(self, root: Part, modules: Iterable[GraphModule]) -> None:
        self._root = root
        self._of_torch = {module.path for module in modules if module.of_torch}
        self._paths = [module.path for module in modules if module.path]

    def automatic(self, depth: int | None = None, most: int = MOST_BOXES) -> set[str]:
        """Level by level, down to `depth`, as long as no more boxes than that are seen."""
        opened: set[str] = set()
        visible = len(self._root.parts)
        level = [part for part in self._root.parts if part.parts]
        reached = 1
        while level and (depth is None or reached < depth):
            level.sort(key=lambda part: (_cost(part), part.module, part.name))
            taken: list[Part] = []
            for _, alike in groupby(level, key=lambda part: (part.module, len(part.parts))):
                group = [part for part in alike if self._may_open(part)]
                more = sum(_cost(part) for part in group)
                if visible + more <= most:
                    visible += more
                    taken += group
            opened |= {part.key for part in taken}
            level = [inner for part in taken for inner in part.parts if inner.parts]
            reached += 1
        return opened

    def with_paths(self, opened: set[str], paths: Collection[str]) -> set[str]:
        """Also these modules, and whatever they lie in."""
        found = set(opened)
        for path in [paths] if isinstance(paths, str) else paths:
            found |= self._way_to(path)
        return found

    def _way_to(self, path: str) -> set[str]:
        found: set[str] = set()
        waiting: list[tuple[Part, tuple[str, ...]]] = [(self._root, ())]
        while waiting:
            part, way = waiting.pop()
            if path in (part.path, part.key) and part.kind != MODEL:
                found |= {*way, part.key}
            waiting += [(inner, (*way, part.key)) for inner in part.parts if inner.parts or path == inner.path]
        if not found and path:
            raise UsageError(self._unknown(path))
        return found

    def _unknown(self, path: str) -> str:
        if path in self._paths:
            return f"module `{path}` was not called in this run, so it has no place in the drawing."
        near = difflib.get_close_matches(path, self._paths, n=3, cutoff=0.4) or self._paths[:3]
        hint = f" There is {', '.join(f'`{each}`' for each in near)}." if near else ""
        return f"no module `{path}` in this model.{hint}"

    def _may_open(self, part: Part) -> bool:
        """One of torch's own that calls no other, an LSTM, says more by its name."""
        if part.kind != MODULE:
            return False
        return part.path not in self._of_torch or any(inner.kind != OPERATION for inner in part.parts)


def _cost(part: Part) -> int:
    return len(part.parts) - 1
