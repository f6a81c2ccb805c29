"""Silence for what is run for our own sake, which the script's own warnings do not notice.

Python shows a warning of a line once. What it has shown it forgets wherever filters are changed, so that
`warnings.catch_warnings()` in the middle of a training has every warning of its loop shown once more.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections.abc import Iterator
from types import ModuleType
from typing import Any

_REGISTRY = "__warningregistry__"  # of a module: what its lines have shown, under which version of the filters
_BEGUN, _ENDED = 2, 1  # versions that catch_warnings and one filter in it take; and its end


@contextlib.contextmanager
def unwarned(category: type[Warning] = Warning) -> Iterator[None]:
    """No warning of this category is shown in it, and afterwards none is that had been shown before."""
    known, version = _registries(), -1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", category)
            before = _filters_version(category) - _BEGUN
            try:
                yield
            finally:
                version = _filters_version(category) + _ENDED
    finally:
        for registry, shown in known:
            if shown.get("version") == before:
                registry.clear()
                registry.update(shown, version=version)


def _registries() -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
    """Each with what it holds now."""
    modules = [module for module in tuple(sys.modules.values()) if isinstance(module, ModuleType)]
    held = [module.__dict__.get(_REGISTRY) for module in modules]
    return [(registry, dict(registry)) for registry in held if isinstance(registry, dict)]


def _filters_version(ignored: type[Warning]) -> int:
    """Python writes it into a registry that it asks for a warning."""
    registry: dict[Any, Any] = {}
    warnings.warn_explicit("", ignored, __file__, 1, registry=registry)
    return int(registry.get("version", -1))
