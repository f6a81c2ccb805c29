"""On PYTHONPATH of every process these tests start: a session that needs no torch, and a module
`training` with which a script plays a training run."""

import os
import sys
import time
import types

session = types.ModuleType("torch_debugger.runner.session")
training = types.ModuleType("training")


class Session:
    def __init__(self, settings, script, arguments, sinks, board=None, requests=None):
        self.settings, self.sinks, self.board, self.requests = settings, sinks, board, requests
        self.steps = 0
        training.session = self

    def start(self):
        return

    def interrupted(self):
        pass

    def crash(self, error):
        import traceback

        from torch_debugger.records import CrashFact, Place
        from torch_debugger.system.tracebacks import hide_our_frames

        if isinstance(error, SyntaxError):
            return  # of the script itself: torch is not imported by then, and nobody watches
        hide_our_frames(error)
        kind, text = type(error).__name__, "".join(traceback.format_exception(error))
        self.add(CrashFact(kind, str(error), (), Place("train.py", 1), None, text, self.steps))

    def end(self, outcome):
        from torch_debugger.records import EndFact

        self.add(EndFact(outcome, self.steps, "steps"))

    def add(self, record):
        for sink in self.sinks:
            sink.add(record)


def step(loss=0.5):
    import numpy  # noqa: F401  torch would have imported it

    from torch_debugger.records import Scalars

    session = training.session
    session.steps += 1
    if session.board is not None:
        session.board.loss = loss
        session.board.step = session.steps
    session.add(Scalars(session.steps, time.time(), {"loss": loss}))


def flush():
    """A second of training later the writer would have done it by itself."""
    for sink in training.session.sinks:
        if hasattr(sink, "flush"):  # what judges at once has nothing to write
            sink.flush()


def wait_for_the_judge():
    """What a finding asks for, as soon as the parent has found it; it says so in the same breath."""
    deadline = time.monotonic() + 300
    while not (asked := training.session.requests.poll()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return asked


def wait_for(file):
    """Until the test has seen what it waits for, or has done its part."""
    deadline = time.monotonic() + 300
    while not os.path.exists(file) and time.monotonic() < deadline:
        time.sleep(0.01)


if os.environ.get("BREAK_THE_SESSION"):
    Session.start = Session.end = lambda *_: 1 / 0
session.Session = Session
training.step, training.flush = step, flush
training.wait_for_the_judge, training.wait_for = wait_for_the_judge, wait_for
sys.modules["torch_debugger.runner.session"] = session
sys.modules["training"] = training
