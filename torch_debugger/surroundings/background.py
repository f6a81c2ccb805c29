"""Gathers the surroundings beside the training, in a thread that ends when it has them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from torch_debugger.records import Surroundings
from torch_debugger.surroundings.gathering import gather_surroundings

_WAIT_S = 2.0  # at the end of a run; a git that takes longer costs the record


class Gathering:
    """`hand` is given the record, `say` what went wrong instead; both from the thread."""

    def __init__(
        self,
        command: Sequence[str],
        script: str,
        hand: Callable[[Surroundings], object],
        say: Callable[[str], None],
    ) -> None:
        self._command, self._script = tuple(command), script
        self._hand, self._say = hand, say
        self._thread = threading.Thread(target=self._gather, name="torch_debugger surroundings", daemon=True)
        try:
            self._thread.start()
        except RuntimeError as error:
            say(f"The log will not tell the surroundings of this run: the system gives no thread ({error}).")

    def wait(self) -> None:
        if self._thread.is_alive():
            self._thread.join(_WAIT_S)

    def _gather(self) -> None:
        try:
            self._hand(gather_surroundings(self._command, self._script))
        except Exception as error:  # a log without its surroundings is better than a traceback of ours
            self._say(f"The log does not tell the surroundings of this run ({type(error).__name__}: {error}).")
