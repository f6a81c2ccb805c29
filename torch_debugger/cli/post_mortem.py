"""`--pdb`: after a crash has been explained, pdb in the frame of the user's code that crashed."""

from __future__ import annotations

from torch_debugger.saying import say


def look_into_crash(error: BaseException) -> None:
    """Returns when the user is done; Ctrl-C and exits are no crashes."""
    if not isinstance(error, Exception):
        return
    try:
        from torch_debugger.breakpoints.stopping import post_mortem

        post_mortem(error.__traceback__)
    except Exception as fault:  # the script has ended as it did, whatever becomes of the look into it
        say(f"the post-mortem failed ({type(fault).__name__}: {fault}).")
