"""The user's line in a forked worker that touched CUDA: from the traceback the worker sent."""

from __future__ import annotations

import re

from torch_debugger.anatomy.sources import is_user_file
from torch_debugger.probes.crash_source import statement_at
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place

_LINE = re.compile(r'File "([^"]+)", line (\d+)')


def worker_line(scene: Scene, text: str) -> Place:
    """The innermost line of the user's in the worker; else in this process, which is then the fork."""
    lines = [(file, int(line)) for file, line in _LINE.findall(text) if is_user_file(file)]
    seen = scene.user_frame
    if not lines and seen is not None:
        lines = [(seen.file, seen.line)]
    if not lines:
        return Place()
    first, code = statement_at(*lines[-1])
    return Place(lines[-1][0], first, None, code)
