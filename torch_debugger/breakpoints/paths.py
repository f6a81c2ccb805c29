"""The paths of the modules that are called, under the user's own names; nothing is kept alive for it."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from types import FrameType

from torch import nn

from torch_debugger.anatomy.naming import name_root
from torch_debugger.breakpoints.breakpoint import Breakpoint


@dataclass(slots=True)
class Known:
    module: weakref.ref[nn.Module]
    path: str
    posts: tuple[Breakpoint, ...] | None = None  # None: not yet looked up


class Paths:
    """By id and reference: a user's module may be equal to others, or have no hash."""

    def __init__(self) -> None:
        self._known: dict[int, Known] = {}

    def of(self, module: nn.Module) -> Known | None:
        known = self._known.get(id(module))
        return known if known is not None and known.module() is module else None

    def meet(self, root: nn.Module, frame: FrameType | None) -> Known:
        """A module called from outside all that is known: it and its parts get their paths."""
        self._known = {key: known for key, known in self._known.items() if known.module() is not None}
        name = name_root(root, frame)
        for path, module in root.named_modules():
            if self.of(module) is None:
                self._known[id(module)] = Known(weakref.ref(module), f"{name}.{path}" if path else name)
        return self._known[id(root)]

    def forget_posts(self) -> None:
        """Breakpoints were set or removed."""
        for known in self._known.values():
            known.posts = None

    def all(self) -> Sequence[str]:
        return [known.path for known in self._known.values() if known.module() is not None]
