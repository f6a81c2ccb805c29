"""A frame's variables are read without keeping them alive, and without touching anybody's dictionary."""

from __future__ import annotations

import sys
import threading
import time
import weakref
from types import FrameType
from typing import Any

from torch_debugger.source.frames import let_go_of_snapshots, locals_elsewhere, locals_of


class Batch:
    pass


def test_the_variables_by_name() -> None:
    def function(first: int, *rest: int, **named: int) -> dict[str, Any]:
        inside = 5
        return locals_of(sys._getframe()) if inside else {}

    assert function(1, 2, key=3) == {"first": 1, "rest": (2,), "named": {"key": 3}, "inside": 5}


def test_closures_are_read_too() -> None:
    outer = 7

    def function() -> dict[str, Any]:
        inner = outer + 1
        return locals_of(sys._getframe()) | {"kept": lambda: inner}

    assert {name: value for name, value in function().items() if name != "kept"} == {"outer": 7, "inner": 8}


def test_a_batch_may_go_after_it_was_read() -> None:
    batch = Batch()
    gone = weakref.ref(batch)
    assert locals_of(sys._getframe())["batch"] is batch
    del batch
    assert gone() is None


def test_a_batch_may_be_replaced_after_it_was_read() -> None:
    batch = Batch()
    gone = weakref.ref(batch)
    locals_of(sys._getframe())
    batch = Batch()
    assert gone() is None
    assert locals_of(sys._getframe())["batch"] is batch


def test_a_dictionary_that_the_user_keeps_stays_whole() -> None:
    rate, size = 0.1, 32
    settings = locals()
    locals_of(sys._getframe())
    assert (settings["rate"], settings["size"]) == (rate, size)


def test_what_exec_made_stays_there() -> None:
    if sys.version_info < (3, 13):  # from then on exec() has a dictionary of its own
        exec("made = 3")
        locals_of(sys._getframe())
        assert locals()["made"] == 3


def test_globals_are_never_touched() -> None:
    names: dict[str, Any] = {"locals_of": locals_of, "sys": sys}
    exec("value = 1\nfound = locals_of(sys._getframe())", names)
    assert names["value"] == names["found"]["value"] == 1


def test_class_bodies_are_never_touched() -> None:
    class Made:
        value = 1
        found = locals_of(sys._getframe())

    assert Made.value == Made.found["value"] == 1


def test_a_debuggers_look_at_the_frame_stays_whole() -> None:
    """pdb keeps a frame's dictionary and writes it back when the user goes on."""

    def stopped(value: int) -> tuple[FrameType, dict[str, Any]]:
        frame = sys._getframe()
        kept = frame.f_locals
        locals_of(frame)
        return frame, dict(kept)

    assert stopped(4)[1]["value"] == 4


def test_a_frame_of_another_thread_that_is_traced_keeps_its_variables() -> None:
    """As by a debugger, which takes the variables back from the snapshot after every line."""
    frames: list[FrameType] = []
    found: list[object] = []
    runs, enough = threading.Event(), threading.Event()

    def trace(frame: FrameType, event: str, argument: object) -> object:
        time.sleep(0)  # lets the other thread in
        return trace

    def work(batch: object) -> object:
        frames.append(sys._getframe())
        runs.set()
        kept = batch
        while not enough.is_set():
            kept = batch
        return kept

    def run() -> None:
        sys.settrace(trace)
        found.append(work(7))

    thread = threading.Thread(target=run)
    thread.start()
    runs.wait()
    seen = set()
    for _ in range(300):
        seen.add(locals_elsewhere(frames[0]).get("batch", 7))
        time.sleep(0)  # lets it go on to the next line
    enough.set()
    thread.join()
    assert seen == {7}
    assert found == [7]


def test_what_another_thread_left_is_let_go_of() -> None:
    class Batch:
        pass

    batch = Batch()
    gone = weakref.ref(batch)
    thread = threading.Thread(target=locals_elsewhere, args=(sys._getframe(),), kwargs={"lasting": True})
    thread.start()
    thread.join()
    del batch
    let_go_of_snapshots()
    assert gone() is None
