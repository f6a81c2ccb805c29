"""A function of torch's that tells us of its calls, and is itself again when nobody listens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch_debugger.tracebacks import hidden_in_tracebacks


class Interception:
    """`told(*arguments)` is called before the function, which then does what it always did."""

    def __init__(self, owner: Any, name: str, told: Callable[..., None]) -> None:
        self._owner, self._name, self._told = owner, name, told
        self._original: Any = None
        self._ours: Any = None

    def listen(self, wanted: bool) -> None:
        if wanted and self._ours is None:
            self._original = getattr(self._owner, self._name)
            self._ours = self._around(self._original)
            setattr(self._owner, self._name, self._ours)
        elif not wanted and self._ours is not None:
            if getattr(self._owner, self._name) is self._ours:  # else another stands over ours, and calls it
                setattr(self._owner, self._name, self._original)
            self._ours = None

    def _around(self, original: Any) -> Any:
        def function(*arguments: Any, **keywords: Any) -> Any:
            if self._ours is function:
                self._told(*arguments, **keywords)
            with hidden_in_tracebacks:
                return original(*arguments, **keywords)

        function.__wrapped__ = original  # type: ignore[attr-defined]
        function.__name__, function.__doc__ = original.__name__, original.__doc__
        return function
