"""A process that the script starts: left alone until it joins a process group, then watched as a rank."""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from os import getpid
from types import ModuleType
from typing import TYPE_CHECKING, Any

from torch_debugger.log.event_files import rank_of_process
from torch_debugger.runner.script import Program
from torch_debugger.settings import Settings
from torch_debugger.system.imports import when_imported
from torch_debugger.system.program import say
from torch_debugger.system.tracebacks import hidden_in_tracebacks, hide_our_frames

if TYPE_CHECKING:
    from torch_debugger.runner.watched_script import ScriptWatch


_INIT = "init_process_group"


def rank_wrapper(program: Program, settings: Settings) -> Callable[[Callable[..., Any]], RankTarget] | None:
    """What goes around the functions that the script's processes run; None where they are not watched."""
    is_trial = settings.preflight or settings.step_rehearsal
    if settings.log_dir is None or is_trial or rank_of_process() is not None:
        return None  # also what a rank of torchrun starts: its numbers would be those of other ranks
    # Such a process has no terminal to stop at.
    rank_settings = dataclasses.replace(settings, breaks=(), post_mortem=False)
    return lambda target: RankTarget(target, program, rank_settings)


@dataclass(frozen=True)
class RankTarget:
    """Runs `target` in a process that has just been started; pickled with it for a new interpreter."""

    target: Callable[..., Any]
    program: Program
    settings: Settings

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        watching = _RankWatch(self.program, self.settings)
        try:
            return self.target(*arguments, **keywords)
        except BaseException as error:
            watching.saw(error)
            _hide_us_from_tracebacks()
            raise
        finally:
            watching.end()


class _RankWatch:
    """From the moment the process group stands to the end of the function."""

    def __init__(self, program: Program, settings: Settings) -> None:
        self._program, self._settings = program, settings
        self._pid = getpid()
        self._watch: ScriptWatch | None = None
        self._originals: list[tuple[ModuleType, Any]] = []
        self._stop_waiting = when_imported("torch.distributed", self._listen)

    def saw(self, error: BaseException) -> None:
        if self._watch is not None:
            self._watch.saw(error)

    def end(self) -> None:
        self._stop_waiting()
        self._put_back()
        if self._watch is not None:
            self._watch.end()

    def _listen(self, distributed: ModuleType) -> None:
        if distributed.is_available():
            for module in (distributed, distributed.distributed_c10d):
                self._originals.append((module, getattr(module, _INIT)))
                setattr(module, _INIT, self._around(getattr(module, _INIT)))

    def _around(self, original: Any) -> Any:
        def init_process_group(*arguments: Any, **keywords: Any) -> Any:
            with hidden_in_tracebacks:
                result = original(*arguments, **keywords)
            if getpid() == self._pid and self._watch is None:
                self._begin()
            return result

        return init_process_group

    def _begin(self) -> None:
        self._put_back()
        try:
            from torch_debugger.ranks.processes import this_rank
            from torch_debugger.runner.watched_script import ScriptWatch

            fact = this_rank()
            if fact is not None:
                self._watch = ScriptWatch(self._program, self._settings, rank=fact.rank)
                self._watch.start()
        except Exception as error:  # we are inside the script's own call
            say(f"could not begin to watch a rank ({type(error).__name__}: {error}); it runs unwatched.")

    def _put_back(self) -> None:
        for module, original in self._originals:
            setattr(module, _INIT, original)
        self._originals.clear()


def _hide_us_from_tracebacks() -> None:
    """Whoever started this process prints the exception that ends it, or sends its text home: by these."""
    for name in ("format_exc", "print_exc"):
        setattr(traceback, name, _without_us(getattr(traceback, name)))


def _without_us(original: Callable[..., Any]) -> Callable[..., Any]:
    def tell(*arguments: Any, **keywords: Any) -> Any:
        import sys

        error = sys.exc_info()[1]
        if error is not None:
            hide_our_frames(error)
        return original(*arguments, **keywords)

    return tell
