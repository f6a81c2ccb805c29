"""A look whose result nobody takes is meant to be read: it prints itself.

`check_gradients(model)` as a line of its own in a script would otherwise be for nothing. Where the result is
used (assigned, printed, asserted, returned) nothing is printed here, nor at a prompt and in the last line of a
notebook's cell, where Python shows it.
"""

from __future__ import annotations

import dis
import sys
from types import FrameType
from typing import TypeVar

Shown = TypeVar("Shown")
_IDLE = ("EXTENDED_ARG", "NOP", "CACHE")


def shown_where_bare(result: Shown) -> Shown:
    """Said by the function that was called; prints its result where the call is a statement of its own."""
    caller = sys._getframe(1).f_back
    if caller is not None and is_bare_call(caller):
        encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
        if sys.stdout is not None:  # a terminal of another encoding gets what it can show
            sys.stdout.write(f"{result}\n".encode(encoding, "replace").decode(encoding))
    return result


def is_bare_call(frame: FrameType) -> bool:
    """Is what the call under way in this frame returns thrown away at once?

    Python compiles a call that is a statement of its own into the call and a POP_TOP; a prompt compiles it
    with one that prints in between.
    """
    # Caches lie behind a call, and the frame may point at one of them.
    steps = [step for step in dis.get_instructions(frame.f_code) if step.opname not in _IDLE]
    here = max((at for at, step in enumerate(steps) if step.offset <= frame.f_lasti), default=None)
    if here is None or here + 1 == len(steps):
        return False
    return steps[here].opname.startswith("CALL") and steps[here + 1].opname == "POP_TOP"
