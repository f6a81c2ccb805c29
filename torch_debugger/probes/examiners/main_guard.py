"""Whether a script that starts processes does so outside `if __name__ == "__main__":`."""

from __future__ import annotations

import ast

from torch_debugger.anatomy.sources import place_at, tree_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place


def unguarded_line(scene: Scene) -> Place:
    """The script's line of the traceback, where no `if` of the file's top level stands around it."""
    for seen in scene.frames:
        if seen.user and seen.function == "<module>":
            name = seen.frame.f_globals.get("__name__")
            tree = tree_of(seen.file) if name in ("__main__", "__mp_main__") else None
            holding = [node for node in tree.body if _holds(node, seen.line)] if tree else []
            guarded = not holding or isinstance(holding[0], ast.If | ast.Try | ast.Match)
            return Place() if guarded else place_at(seen.file, seen.line)
    return Place()


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)
