"""Where a picture can be shown: in the notebook that runs us, or on a screen."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any


def notebook_display() -> Callable[[Any], Any] | None:
    """What shows things below a cell, where there is one; IPython is never imported for it."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if ipython is None or getattr(shell, "kernel", None) is None:
        return None
    shown: Callable[[Any], Any] = ipython.display.display
    return shown


def has_screen() -> bool:
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))
