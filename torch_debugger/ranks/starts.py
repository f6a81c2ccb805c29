"""Processes that a script starts: which of them may become ranks, and how a function of ours gets into them."""

from __future__ import annotations

import functools
import importlib.machinery
import os
import sys
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from typing import Any

from torch.multiprocessing.spawn import _wrap as spawned_by_torch

Wrap = Callable[[Callable[..., Any]], Any]

# Their processes do what the library wants: workers of loaders and of pools, managers, compilers.
_LIBRARIES = ("torch", "multiprocessing", "concurrent", "joblib")


def wrap_target(process: BaseProcess, wrap: Wrap) -> Callable[[], None] | None:
    """Puts a function of ours around the one that this process is to run. What comes back puts it back: the
    process has its own copy once it is started. None where the process is not the script's own."""
    parts: Any = vars(process)
    target, arguments = parts.get("_target"), parts.get("_args")
    if target is spawned_by_torch and arguments and callable(arguments[0]):
        # Which catches what the function raises: ours has to be inside.
        parts["_args"] = (wrap(arguments[0]), *arguments[1:])
        return functools.partial(parts.__setitem__, "_args", arguments)
    if callable(target) and not _is_a_librarys(target):
        parts["_target"] = wrap(target)
        return functools.partial(parts.__setitem__, "_target", target)
    return None


def _is_a_librarys(target: Any) -> bool:
    module = getattr(target, "__module__", None) or type(target).__module__
    return str(module).partition(".")[0] in _LIBRARIES


def is_importable_elsewhere() -> bool:
    """Whether a fresh interpreter with this one's sys.path finds this very package. One that does not could not
    even unpickle the function it is to run."""
    package = "torch_debugger"
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec: importlib.machinery.ModuleSpec | None = find(package, None) if find is not None else None
        if spec is not None and spec.origin is not None:
            ours = sys.modules[package].__file__
            return ours is not None and os.path.realpath(spec.origin) == os.path.realpath(ours)
    return False
