"""One sentence of ours on stderr; stdout belongs to the script."""

from __future__ import annotations

import contextlib
import sys


def say(sentence: str) -> None:
    # A closed stderr is no reason to disturb anybody.
    with contextlib.suppress(OSError, ValueError, AttributeError):
        sys.__stderr__.write(f"torch-debugger: {sentence}\n")  # type: ignore[union-attr]
        sys.__stderr__.flush()  # type: ignore[union-attr]
