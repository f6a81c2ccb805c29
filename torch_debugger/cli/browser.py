"""Opens the user's browser, where there is one to open."""

from __future__ import annotations

import os
import sys
import threading
import webbrowser

_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY")
_REMOTE = ("SSH_CONNECTION", "SSH_TTY")


def open_browser(address: str) -> None:
    """Does not wait for it: some browsers take seconds to say that they have opened."""
    if has_browser():
        threading.Thread(target=_open, args=(address,), daemon=True).start()


def has_browser() -> bool:
    """A browser of text would take the terminal away; one at the far end of an ssh is of no use."""
    if os.environ.get("BROWSER"):  # also how editors open a page at the near end of their connection
        return True
    if any(os.environ.get(name) for name in _REMOTE):
        return False
    return sys.platform in ("darwin", "win32") or any(os.environ.get(name) for name in _SCREENS)


def _open(address: str) -> None:
    try:
        webbrowser.open(address)
    except (webbrowser.Error, OSError):  # the address has been printed
        return
