"""`with explaining():` and `@explaining()`: an exception that leaves is explained on stderr and goes on.

Nothing is watched, and nothing of ours is loaded before an exception comes: its frames hold it all.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar, cast

from torch_debugger.integrations.program import say
from torch_debugger.integrations.told import is_told
from torch_debugger.tracebacks import hide_our_frames

Function = TypeVar("Function", bound=Callable[..., Any])


class explaining:  # noqa: N801  used like a function
    """Explains an exception that leaves the block or the function, unless that has been done."""

    def __enter__(self) -> None:
        return None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # KeyboardInterrupt, SystemExit and GeneratorExit end something on purpose.
        if isinstance(error, Exception):
            _tell(error)

    def __call__(self, function: Function) -> Function:
        explained: Any
        if inspect.iscoroutinefunction(function):

            async def explained(*arguments: Any, **keywords: Any) -> Any:
                with self:
                    return await function(*arguments, **keywords)

        elif inspect.isgeneratorfunction(function):

            def explained(*arguments: Any, **keywords: Any) -> Any:
                with self:
                    return (yield from function(*arguments, **keywords))

        else:

            def explained(*arguments: Any, **keywords: Any) -> Any:
                with self:
                    return function(*arguments, **keywords)

        return cast(Function, functools.wraps(function)(explained))


def _tell(error: BaseException) -> None:
    """Whatever happens here stays here: the user's exception must go on."""
    try:
        hide_our_frames(error)
        if not is_told(error) and not _is_reported_at_end():
            from torch_debugger.explanations import explain

            explain(error)
    except Exception as fault:
        say(f"could not explain this ({type(fault).__name__}: {fault}).")


def _is_reported_at_end() -> bool:
    plumbing = sys.modules.get("torch_debugger.plumbing")
    return plumbing is not None and bool(plumbing.is_reported_at_end())
