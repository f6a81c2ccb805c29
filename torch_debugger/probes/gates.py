"""Ears on the calls of modules, with nothing hung on the modules themselves.

torch looks up `_compiled_call_impl` at every call of a module. A gate stands in that slot of the
class: a module's own dictionary, its pickles and its copies stay as they are, and a copy that
shares the dictionary (a replica on another device) is not mistaken for its original.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from torch import nn

_SLOT = "_compiled_call_impl"

Around = Callable[[nn.Module], Callable[..., Any] | None]


class Gate:
    """Asks `around(module)` at each call what to call instead of the module; None leaves it alone.

    A class has one gate. One that stands `behind` another gives its place to that one, and comes off with it.
    """

    def __init__(self, around: Around, behind: Gate | None = None) -> None:
        self._around = around
        self._classes: weakref.WeakSet[type] = weakref.WeakSet()
        self._followers: list[Gate] = []
        if behind is not None:
            behind._followers.append(self)

    def put_on(self, kind: type) -> None:
        standing = vars(kind).get(_SLOT)
        if standing is None or standing in self._followers:
            setattr(kind, _SLOT, self)
            self._classes.add(kind)

    def take_off(self) -> None:
        for follower in self._followers:
            follower.take_off()
        for kind in tuple(self._classes):
            if vars(kind).get(_SLOT) is self:
                delattr(kind, _SLOT)
        self._classes.clear()

    def __get__(self, module: nn.Module | None, kind: type | None = None) -> Callable[..., Any] | None:
        return None if module is None else self._around(module)

    def __reduce__(self) -> tuple[type, tuple[()]]:
        """A class that is pickled by value takes torch's own None along."""
        return type(None), ()
