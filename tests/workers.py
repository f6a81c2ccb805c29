"""`pytest --workers=3`: the tests are collected once, then forks of that process run them, a file at a time.

pytest-xdist collects in each of its workers. Here that takes half a minute of processor time each: tests of a
debugger import all that people train with. A fork has it for nothing.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
import traceback
from collections import deque
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any

import pytest

GONE = "gone"


@dataclass
class Worker:
    pid: int
    pipe: Connection
    file: list[pytest.Item] = field(default_factory=list)  # of which it runs the first


class Workers:
    def __init__(self, count: int) -> None:
        self.count = count
        self.left: deque[list[pytest.Item]] = deque()  # of each file the tests that nobody has yet
        self.working: list[Worker] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly or len(session.items) < 2:
            return None
        files = itertools.groupby(session.items, key=together)
        self.left.extend(list(items) for _, items in files)
        # One for all of them: what one of them makes for the others is found there.
        session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
        gc.collect()
        gc.freeze()  # a collection in a fork would copy all that it shares
        try:
            for _ in range(min(self.count, len(self.left))):
                self._start(session)
            while self.working:
                self._hear(session)
        finally:
            for worker in self.working:
                os.kill(worker.pid, 9)
        return True

    def _start(self, session: pytest.Session) -> None:
        ours, theirs = Pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            work(session, theirs, [ours, *(worker.pipe for worker in self.working)])
        theirs.close()
        self.working.append(Worker(pid, ours))

    def _hear(self, session: pytest.Session) -> None:
        pipes = {worker.pipe: worker for worker in self.working}
        for pipe in wait(list(pipes)):
            worker = pipes[pipe]  # type: ignore[index]
            try:
                told = worker.pipe.recv()
            except (EOFError, OSError):
                told = GONE
            if told == GONE:
                self._gone(worker, session)
            elif told is None:
                worker.file = self.left.popleft() if self.left else []
                worker.pipe.send([item.nodeid for item in worker.file])
            else:
                report = session.config.hook.pytest_report_from_serializable(config=session.config, data=told)
                tell(worker.file[0], report)
                if report.when == "teardown":
                    worker.file.pop(0)
            if session.shouldfail:
                raise session.Failed(session.shouldfail)

    def _gone(self, worker: Worker, session: pytest.Session) -> None:
        """At its end; in the middle of a test, that one has failed, and another worker goes on after it."""
        self.working.remove(worker)
        status = os.waitstatus_to_exitcode(os.waitpid(worker.pid, 0)[1])
        if not worker.file:
            assert not status, f"a worker ended with exit status {status} when its tests were over: see above"
            return
        ended, *rest = worker.file
        words = f"the process of this test ended in the middle of it, with exit status {status}"
        for when, outcome in (("call", "failed"), ("teardown", "passed")):
            report = pytest.TestReport(ended.nodeid, ended.location, {}, outcome, words, when)  # type: ignore[arg-type]
            tell(ended, report)
        if rest:
            self.left.appendleft(rest)
        self._start(session)


def together(item: pytest.Item) -> Path:
    """The tests of a file, and all that need a browser: one Chromium and what it has compiled do for them."""
    return item.path.parent if item.path.parent.name == "browser" else item.path


def tell(item: pytest.Item, report: pytest.TestReport) -> None:
    item.ihook.pytest_runtest_logreport(report=report)
    if report.when == "teardown":
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)


class Telling:
    """In a worker: sends what becomes of its tests."""

    def __init__(self, config: pytest.Config, pipe: Connection) -> None:
        self.config, self.pipe = config, pipe

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self.config.hook
        self.pipe.send(hook.pytest_report_to_serializable(config=self.config, report=report))


def work(session: pytest.Session, pipe: Connection, others: list[Connection]) -> None:
    """In the fork: never returns."""
    status = 1
    try:
        for other in others:
            other.close()
        plugins = session.config.pluginmanager
        capture: Any = plugins.getplugin("capturemanager")
        capture.stop_global_capturing()  # into files that are everybody's
        capture.start_global_capturing()
        capture.suspend_global_capture()
        plugins.unregister(name="terminalreporter")
        plugins.register(Telling(session.config, pipe))
        known = {item.nodeid: item for item in session.items}
        pipe.send(None)
        while names := pipe.recv():
            run([known[name] for name in names], session)
            pipe.send(None)
        session._setupstate.teardown_exact(None)
        status = 0
    except BaseException:  # of a fixture of the session, or of this file: no test tells it
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def run(items: list[pytest.Item], session: pytest.Session) -> None:
    # With the last test of a file goes all that was set up, but for the fixtures of the session.
    for item, following in zip(items, [*items[1:], session], strict=True):
        session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
