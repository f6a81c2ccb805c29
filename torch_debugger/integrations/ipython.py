"""`%load_ext torch_debugger`: an exception in a cell is explained under its traceback."""

from __future__ import annotations

from typing import Any

from torch_debugger.explanations import Explanation, capture
from torch_debugger.integrations.concern import is_worth_a_comment
from torch_debugger.integrations.program import say
from torch_debugger.integrations.told import is_told, mark_told
from torch_debugger.tracebacks import hide_our_frames


def load_ipython_extension(shell: Any) -> None:
    unload_ipython_extension(shell)
    shell.events.register("post_run_cell", explain_cell)


def unload_ipython_extension(shell: Any) -> None:
    if explain_cell in shell.events.callbacks["post_run_cell"]:
        shell.events.unregister("post_run_cell", explain_cell)


def explain_cell(result: Any) -> None:
    """Called after each cell; an exception that has nothing to do with torch gets no comment."""
    error = getattr(result, "error_in_exec", None)
    if not isinstance(error, Exception) or is_told(error):
        return
    try:
        mark_told(error)
        hide_our_frames(error)
        explanation = Explanation(capture(error))
        if is_worth_a_comment(explanation.crash, explanation.findings):
            explanation.print()
    except Exception as fault:  # the cell's own traceback has been shown; ours must not follow
        say(f"could not explain this ({type(fault).__name__}: {fault}).")
