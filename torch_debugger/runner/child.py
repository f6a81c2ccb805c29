"""The first file of the watched process, run by its path: it loads the package it lies in and no
other, leaves no trace of that on sys.path, and hands over to the launcher."""

import builtins
import os
import sys


def _noting(imports, original=builtins.__import__):  # type: ignore[no-untyped-def]
    """Which module imports which, by the first part of their names: see own_imports.py."""

    def __import__(name, globals=None, locals=None, fromlist=(), level=0):  # type: ignore[no-untyped-def]  # noqa: N807
        if globals is not None and not level:
            imports.add((globals.get("__name__", "").partition(".")[0], name.partition(".")[0]))
        return original(name, globals, locals, fromlist, level)

    return __import__


if __name__ == "__main__":
    at_start = frozenset(sys.modules)
    imports = set()  # type: set[tuple[str, str]]  # an annotation would stay in __main__
    original, builtins.__import__ = builtins.__import__, _noting(imports)  # type: ignore[no-untyped-call]
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        del sys.path[0]  # this file's own folder
    sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")))
    import torch_debugger  # noqa: F401

    del sys.path[0]
    from torch_debugger.runner import launch

    builtins.__import__ = original
    launch.main(at_start, imports)
