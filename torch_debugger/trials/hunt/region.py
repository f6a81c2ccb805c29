"""The look for anomalies, on and off in this thread; a switch within another changes what is minded."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from torch_debugger.trials.hunt.anomaly import Anomaly, Minded, Watch
from torch_debugger.trials.hunt.backwards import BackwardCall
from torch_debugger.trials.hunt.mode_stack import put_in, take_out
from torch_debugger.trials.hunt.recorder import Recorder
from torch_debugger.trials.hunt.stand_ins import stand_back, stand_in, this_thread


@dataclass(frozen=True)
class Wish:
    """What one switch asks for."""

    minded: Minded
    stacklevel: int
    error: Callable[[Anomaly], Exception]


class _Current(threading.local):
    session: Session | None = None


class Session:
    """From the first switch of a thread to its last."""

    def __init__(self) -> None:
        self.recorder = Recorder(self._grad)
        self.wish: Wish | None = None
        self.backwards = 0

    def start(self) -> None:
        stand_in()
        this_thread.recorder, this_thread.backward = self.recorder, self._backward
        put_in(self.recorder)

    def stop(self) -> None:
        take_out(self.recorder)
        this_thread.recorder = this_thread.backward = None
        stand_back()
        self.recorder.tape.forget()

    def _backward(self, original: Any, tensors: Any, arguments: Any, keywords: Any) -> None:
        recorder = self.recorder
        call = recorder.guarded(BackwardCall, recorder.tape, tensors, *arguments, **keywords)
        with recorder.standing_by():
            try:
                original(tensors, *arguments, **keywords)
            finally:
                if call is not None:
                    call.marks.take_off()
            self.backwards += 1
            anomaly = recorder.guarded(self._watch().after_backward, call) if call is not None else None
        if call is not None and not call.keeps_graph:
            recorder.guarded(recorder.tape.spend, call.steps)
        self._raise(anomaly)

    def _grad(self, results: Any, step: Any) -> None:
        with self.recorder.standing_by():
            anomaly = self.recorder.guarded(self._watch().after_grad, results, step)
        self._raise(anomaly)

    def end(self, since: int, backwards: int) -> None:
        """Of a region that nothing was raised in."""
        if self.recorder.fault:
            warnings.warn(f"detect_anomaly has stopped looking: {self.recorder.fault}", stacklevel=4)
        if self.backwards == backwards:
            with self.recorder.standing_by():
                anomaly = self.recorder.guarded(self._watch().at_end, since)
            self._raise(anomaly)

    def _watch(self) -> Watch:
        assert self.wish is not None
        return Watch(self.recorder, self.wish.minded)

    def _raise(self, anomaly: Anomaly | None) -> None:
        if anomaly is not None and self.wish is not None:
            raise self.wish.error(anomaly)


_current = _Current()


def current_session() -> Session | None:
    return _current.session


def switch(wish: Wish | None) -> Wish | None:
    """From now on this is minded in this thread, nothing with None; what was minded before comes back."""
    session = _current.session
    before = session.wish if session is not None else None
    if wish is None and session is not None:
        session.stop()
        _current.session = None
    elif wish is not None:
        if session is None:
            _current.session = session = Session()
            session.start()
        session.wish, session.recorder.stacklevel = wish, wish.stacklevel
    return before
