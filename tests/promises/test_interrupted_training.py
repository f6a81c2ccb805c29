"""What a signal or another thread throws into a training comes out where the script waits for it, also when
code of ours was under way."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from tests.promises.running import PLAIN, WATCHED, run

TRAINING = """
    import ctypes, functools, signal, sys, threading, time
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(0)
    class Stop(Exception):
        pass
    net = torch.nn.Sequential(torch.nn.Linear(10, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    raised, caught, lost = [], [], []
    def step():
        x = torch.randn(16, 10)
        loss = (net(x) - 1).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    def train_until_stopped(arm):
        before = len(raised)
        try:
            arm()
            while len(raised) == before:
                step()
            for _ in range(3):  # thrown by another thread, it comes a moment later
                step()
            lost.append(raised[-1])
        except BaseException as error:
            caught.append(type(error).__name__)
        torch.set_grad_enabled(True)  # torch's own, where it was stopped in the middle of an update
    for _ in range(5):
        step()
"""
BY_SIGNALS = """
    class Object:
        def __call__(self, number, frame):
            self.handle(number, frame)
        def handle(self, number, frame):
            raised.append("object")
            raise Stop("by an object")
    def tagged(tag, number, frame):
        raised.append(tag)
        raise ValueError(tag)
    def again(number, frame):
        signal.signal(signal.SIGALRM, again)
        raised.append("again")
        raise TimeoutError
    def ends(number, frame):
        raised.append("ends")
        sys.exit(3)
    def throw(error):
        raised.append("lambda")
        raise error
    handlers = [Object(), Object().handle, functools.partial(tagged, "partial"), again, ends]
    handlers.append(lambda *arguments: throw(Stop))
    for shot in range(90):
        handler = handlers[shot % len(handlers)]
        signal.signal(signal.SIGALRM, handler)
        assert signal.getsignal(signal.SIGALRM) is handler
        train_until_stopped(lambda: signal.setitimer(signal.ITIMER_REAL, 0.001 + shot % 5 * 0.0007))
    print(raised, caught, lost)
"""
BY_ANOTHER_THREAD = """
    main = ctypes.c_ulong(threading.main_thread().ident)
    class Late(BaseException):
        pass
    kinds = [Stop, SystemExit, Late]
    armed = []
    def throw(kind, after_s):
        while not armed:
            time.sleep(0.0005)
        armed.clear()
        time.sleep(after_s)
        ctypes.pythonapi.PyThreadState_SetAsyncExc(main, ctypes.py_object(kind))
        raised.append(kind.__name__)
    for shot in range(60):
        thread = threading.Thread(target=throw, args=(kinds[shot % len(kinds)], 0.001 + shot % 5 * 0.0007))
        thread.start()
        train_until_stopped(lambda: armed.append(shot))  # the start of a thread is not made to be interrupted
        thread.join()
    print(raised, caught, lost)
"""


@pytest.mark.parametrize("thrown", [BY_SIGNALS, BY_ANOTHER_THREAD], ids=["signals", "another thread"])
def test_all_that_is_thrown_into_a_training_is_caught_by_the_script(thrown: str, tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(textwrap.dedent(TRAINING) + textwrap.dedent(thrown))
    plain, watched = (run([*how, str(script)]) for how in (PLAIN, WATCHED))
    assert (plain.code, plain.stderr) == (0, "")
    assert watched == plain
