"""Whether the training goes on: the probes' counts as signs of life, the vigil over them, its facts to the
log."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable
from os import getpid
from typing import Any

from torch_debugger.probes.data.loaders import Loaders
from torch_debugger.probes.model.root_modules import RootModules
from torch_debugger.probes.probe import Patches, Probe
from torch_debugger.probes.watch import Watch
from torch_debugger.ranks.hang_detection import Asking, HangDetector
from torch_debugger.ranks.hang_evidence import Evidence, Thread
from torch_debugger.ranks.process_activity import Limits, Pace, kernel_id
from torch_debugger.ranks.thread_stacks import AskedStacks
from torch_debugger.records import HangFact, HangOver
from torch_debugger.settings import Settings
from torch_debugger.source.datasets import batch_count
from torch_debugger.source.frames import let_go_of_snapshots
from torch_debugger.system.redaction import redact_record

_on: HangWatch | None = None


def current_hang_watch() -> HangWatch | None:
    """That of this process, if hangs are watched for by `torch-debugger run`."""
    return _on if _on is not None and _on.pid == getpid() else None


class HangWatch(Probe):
    """One vigil over the training of this process. `on_beat` hears from it about once a second."""

    name = "watchdog"

    def __init__(self, watch: Watch, loaders: Loaders, roots: RootModules, settings: Settings) -> None:
        super().__init__(watch)
        self.on_beat: Callable[[], None] = lambda: None
        self.on_told: list[Callable[[HangFact], None]] = []  # in the vigil's thread
        self.asked = AskedStacks()
        self.pid = getpid()
        self._is_wanted = settings.on_hang != "off"
        self._asking = Asking(settings.log_dir)
        self._roots = roots
        self._evidence = Evidence(lambda: watch.step, self.asked, settings.on_hang)
        self._pace = Pace(Limits(timeout_s=settings.hang_timeout_s))
        self._vigil: HangDetector | None = None
        self._charged_s = 0.0
        if self._is_wanted:
            loaders.on_pass_begin.append(self._begin_pass)
            loaders.on_pass_end.append(self._end_pass)
            watch.between_steps.append(self._follow)

    def install(self, patches: Patches) -> None:
        global _on
        if self._is_wanted:
            self.asked.register()
            main = threading.main_thread()
            thread = Thread(main.ident or 0, kernel_id(main))
            signs, beat = self._signs, self._beat
            self._vigil = HangDetector(thread, self._pace, signs, self._evidence, self._tell, self._asking, beat)
            self._vigil.start()
            _on = self

    def remove(self) -> None:
        """Whether it hung to its end is told by how it ended."""
        if self._vigil is not None:
            self.give_up()
            self._asking.tidy_up()
            self._say_end()

    def interrupted(self, by: BaseException) -> None:
        """The user has pressed Ctrl-C: perhaps because nothing went on."""
        lines = {(frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(by.__traceback__)}
        fact = self._vigil.interrupted(lines) if self._vigil is not None else None
        if fact is not None:
            self._tell(fact)

    def step_aside(self) -> None:
        self.give_up()

    def give_up(self) -> None:
        global _on
        _on = None if _on is self else _on
        detector, self._vigil = self._vigil, None
        if detector is not None:
            detector.stop()
            self.asked.unregister()

    def _say_end(self) -> None:
        """Where others may wait for this rank: how far it came."""
        if self._evidence.world() > 1 and self._pace.signs:
            self.watch.emit(self._evidence.ending())

    def settle(self, limits: Limits, policy: str) -> tuple[Limits, str]:
        """By the script itself; what held before comes back."""
        before = self._pace.limits, self._evidence.policy
        self._pace.limits, self._evidence.policy = limits, policy
        return before

    def _beat(self) -> None:
        self.on_beat()

    def _signs(self) -> tuple[int, ...]:
        clock = self.watch.clock
        calls = sum(sum(list(root.phases.values())) for root in list(self._roots.roots.values()))
        return clock.step, clock.optimizer_steps, clock.backwards, calls

    def _tell(self, fact: HangFact | HangOver) -> None:
        redacted = redact_record(fact)
        self.watch.emit(redacted)
        if isinstance(redacted, HangFact) and redacted.final:
            for listen in self.on_told:
                listen(redacted)

    def _begin_pass(self, loader: Any, iterator: Any, state: Any) -> None:
        self._evidence.begin_pass(iterator, batch_count(loader))

    def _end_pass(self, iterator: Any) -> None:
        self._evidence.end_pass(iterator)

    def _follow(self, step: int, scalars: dict[str, float]) -> None:
        if self._vigil is not None:
            self.watch.probe(self.name, self._step_done)

    def _step_done(self) -> None:
        let_go_of_snapshots()
        detector = self._vigil
        if detector is None:
            return
        self._evidence.loop.note(sys._getframe())
        if detector.fault is not None:
            self._vigil = None
            raise detector.fault  # to the guard, who tells it
        if detector.cpu_s - self._charged_s > 0.001:
            self.watch.governor.charge_base(detector.cpu_s - self._charged_s)
            self._charged_s = detector.cpu_s
