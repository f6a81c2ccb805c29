"""Where the user's files call a function: the files that a traceback goes through, and the script itself."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Iterator

from torch_debugger.anatomy.containers import call_name
from torch_debugger.anatomy.kinds import is_a
from torch_debugger.anatomy.sources import is_user_file, place_at, tree_of
from torch_debugger.probes.crash_frames import Seen
from torch_debugger.records import Place


def user_files(frames: Iterable[Seen]) -> list[str]:
    """The innermost first."""
    files = {seen.file: None for seen in reversed(list(frames)) if seen.user}
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if is_a(script, str) and is_user_file(script):
        files[script] = None
    return list(files)


def calls_in(files: Iterable[str], *names: str) -> Iterator[tuple[Place, ast.Call]]:
    """The calls of functions whose last name is one of these: dist.init_process_group(...)"""
    for file in files:
        tree = tree_of(file)
        for node in ast.walk(tree) if tree is not None else ():
            if isinstance(node, ast.Call) and call_name(node) in names:
                yield place_at(file, node.lineno), node


def aliases_of(frames: Iterable[Seen], value: object) -> set[str]:
    """The names under which the user's frames know an object: DDP for DistributedDataParallel."""
    known: set[str] = set()
    for seen in frames:
        if seen.user:
            known |= {name for name, held in list(seen.frame.f_globals.items()) if held is value}
            known |= {name for name, held in list(seen.frame.f_locals.items()) if held is value}
    return known
