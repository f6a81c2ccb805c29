"""Whether the training goes on: the probes' counts as signs of life, the vigil over them, its facts to the
log."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from torch_debugger.anatomy.dataset_facts import batch_count
from torch_debugger.probes.loaders import Loaders
from torch_debugger.probes.roots import Roots
from torch_debugger.probes.watch import Watch
from torch_debugger.ranks.hangs.asked_stacks import AskedStacks
from torch_debugger.ranks.hangs.asking import Asking
from torch_debugger.ranks.hangs.evidence import Evidence
from torch_debugger.ranks.hangs.pace import Limits, Pace
from torch_debugger.ranks.hangs.sightings import Thread
from torch_debugger.ranks.hangs.vigil import Vigil
from torch_debugger.records import HangFact, HangOver
from torch_debugger.redaction import redact_record
from torch_debugger.settings import Settings


class HangWatch:
    """One vigil over the training of this process. `on_beat` hears from it about once a second."""

    def __init__(self, watch: Watch, loaders: Loaders, roots: Roots, settings: Settings) -> None:
        self.watch = watch
        self.is_wanted = settings.on_hang != "off"
        self.on_beat: Callable[[], None] = lambda: None
        self.on_told: list[Callable[[HangFact], None]] = []  # in the vigil's thread
        self._asking = Asking(settings.log_dir)
        self.asked = AskedStacks()
        self._roots = roots
        self._evidence = Evidence(lambda: watch.step, self.asked, settings.on_hang)
        self._pace = Pace(Limits(timeout_s=settings.hang_timeout_s))
        self._vigil: Vigil | None = None
        self._charged_s = 0.0
        loaders.on_pass_begin.append(self._begin_pass)
        loaders.on_pass_end.append(self._end_pass)
        watch.between_steps.append(self._step_done)

    def start(self) -> None:
        if self.is_wanted:
            self.watch.guard.contain("watchdog", self._start)

    def _start(self) -> None:
        self.asked.register()
        main = threading.main_thread()
        thread = Thread(main.ident or 0, main.native_id or 0)
        self._vigil = Vigil(
            thread, self._pace, self._signs, self._evidence, self._tell, self._asking, self._beat
        )
        self._vigil.start()

    def stop(self, outcome: str) -> None:
        vigil, self._vigil = self._vigil, None
        if vigil is not None:
            went_on = outcome == "finished"
            self.watch.guard.contain("watchdog", lambda: vigil.stop(went_on=went_on))
            self._asking.tidy_up()
            self.watch.guard.contain("watchdog", self._say_end)
            self.watch.guard.contain("watchdog", self.asked.unregister)

    def _say_end(self) -> None:
        """Where others may wait for this rank: how far it came."""
        if self._evidence.world() > 1 and self._pace.signs:
            self.watch.emit(self._evidence.ending())

    @property
    def is_on(self) -> bool:
        return self._vigil is not None

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
        told = redact_record(fact)
        self.watch.emit(told)
        if isinstance(told, HangFact) and told.final:
            for listen in self.on_told:
                listen(told)

    def _begin_pass(self, loader: Any, iterator: Any, state: Any) -> None:
        self._evidence.begin_pass(iterator, batch_count(loader))

    def _end_pass(self, iterator: Any) -> None:
        self._evidence.end_pass(iterator)

    def _step_done(self, step: int, scalars: dict[str, float]) -> None:
        vigil = self._vigil
        if vigil is None:
            return
        if vigil.fault is not None:
            self._vigil = None
            raise vigil.fault  # to the guard, who tells it
        if vigil.cpu_s - self._charged_s > 0.001:
            self.watch.governor.charge_base(vigil.cpu_s - self._charged_s)
            self._charged_s = vigil.cpu_s
