"""The process that carries a log to one tracker: whatever its library does, it does it in here.

Libraries of trackers set hooks, start servers, print, ask and wait at exit. In a process of its own none
of that meets the training or the report, and one that hangs can be ended.

It is told the ending on stdin and answers on stdout, a line of JSON each time.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import sys
import threading
from typing import IO, Any

from torch_debugger.integrations.delivery import Delivery, Ending, Endings, make_receiver
from torch_debugger.integrations.tracker import Tracker

LAST_S = 60.0  # after the ending; whoever started us waits less long
_ABANDONED = Ending({"outcome": "unknown"}, "Nobody was left to judge this run and to report on it.\n")


def main() -> None:
    """`folder directory name` and the tracker as JSON, as words of the command line."""
    folder, directory, name, chosen = sys.argv[1:]
    folder, directory, name, chosen = sys.argv[1:]
    # What the library and its own processes print goes nowhere, and they do not hold our channels open.
    orders, answers = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.nice(10)  # the training comes first
    endings: Endings = queue.SimpleQueue()
    threading.Thread(target=_await_ending, args=(orders, endings), daemon=True).start()
    tracker = Tracker(**json.loads(chosen))

    def answer(**words: Any) -> None:
        with contextlib.suppress(OSError, ValueError):  # nobody is there any more
            answers.write(json.dumps(words) + "\n")
            answers.flush()

    delivery = Delivery(
        tracker.title,
        make_receiver(tracker, directory),
        name,
        tell=lambda sentence: answer(say=sentence),
        has=lambda step: answer(step=step),
    )
    delivery.carry(folder, endings)


def _await_ending(orders: IO[str], endings: Endings) -> None:
    text = orders.read()
    # An upload that never ends does not keep us for ever, also where nobody is left to end us.
    timer = threading.Timer(LAST_S, os._exit, [1])
    timer.daemon = True
    timer.start()
    endings.put(Ending(**json.loads(text)) if text else _ABANDONED)
