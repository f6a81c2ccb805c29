"""For an exception that ends the watched script: its traceback as plain python would show it.

Shown by the parent, below the explanation, unless the script has an excepthook of its own.
"""

from __future__ import annotations

import sys
from contextlib import nullcontext
from types import TracebackType

from torch_debugger.cli.handover import Handover
from torch_debugger.cli.post_mortem import look_into_crash
from torch_debugger.cli.watch import undisturbed
from torch_debugger.tracebacks import hide_our_frames


def show_at_exit(handover: Handover, *, look_into: bool) -> None:
    """For an exception that is about to end the interpreter: the user's own excepthook
    gets it as it would have come without us; python's own is the parent's to replace. Then --pdb, perhaps."""
    users_hook = sys.excepthook

    def hook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        sys.excepthook = users_hook
        hide_our_frames(error)
        sys.last_traceback = error.__traceback__
        plain, interrupted = users_hook is sys.__excepthook__, isinstance(error, KeyboardInterrupt)
        if interrupted or not (plain and handover.is_possible() and handover.offer()):
            # Python's own is in C, where the next Ctrl-C waits; here it would be met by a line of ours.
            with undisturbed() if plain and interrupted else nullcontext():
                users_hook(kind, error, error.__traceback__)
        if look_into:
            look_into_crash(error)

    sys.excepthook = hook
