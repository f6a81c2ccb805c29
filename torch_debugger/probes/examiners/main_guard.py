"""Whether a script that starts processes does so outside `if __name__ == "__main__":`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FrameType

from torch_debugger.anatomy.sources import place_at, tree_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place

_MAIN = ("__main__", "__mp_main__")


def unguarded_line(scene: Scene) -> Place:
    """The script's line of the traceback, where no `if` of the file's top level stands around it."""
    for frame, line in _frames(scene):
        if frame.f_code.co_name == "<module>" and frame.f_globals.get("__name__") in _MAIN:
            file = frame.f_code.co_filename
            tree = tree_of(file)
            holding = [node for node in tree.body if _holds(node, line)] if tree else []
            guarded = not holding or isinstance(holding[0], ast.If | ast.Try | ast.Match)
            return Place() if guarded else place_at(file, line)
    return Place()


def _frames(scene: Scene) -> Iterator[tuple[FrameType, int]]:
    """Those of the traceback, and around them: an exception caught on its way has only the inner ones."""
    yield from ((seen.frame, seen.line) for seen in scene.frames if seen.user)
    frame = scene.frames[0].frame.f_back if scene.frames else None
    while frame is not None:
        yield frame, frame.f_lineno
        frame = frame.f_back


def _holds(node: ast.stmt, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)
