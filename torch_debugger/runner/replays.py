"""Steps run again: what the probes keep of a step, handed to the trials that find the op at fault.

Those trials are imported where a step has gone wrong, and not before: healthy runs need no memory for them.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from torch_debugger.model.forks import can_differentiate_in_fork, has_other_kernels, in_fork, in_process_group
from torch_debugger.probes.async_steps import AsyncSteps, Inputs
from torch_debugger.probes.data.loaders import Loaders
from torch_debugger.probes.loss_backward import Backward
from torch_debugger.probes.model.module_state import ModuleMoves
from torch_debugger.probes.model.root_modules import RootModule, RootModules
from torch_debugger.probes.watch import Watch
from torch_debugger.records import GradientCheckFact, Origin
from torch_debugger.source.files import is_user_file, line_at
from torch_debugger.source.frames import frames
from torch_debugger.source.variables import VariablesAt, moment_of
from torch_debugger.stats.dispatch_modes import shards_expected
from torch_debugger.system.clocks import time
from torch_debugger.trials.gpu_rehearsal import RehearsalProcess

if TYPE_CHECKING:
    from torch_debugger.trials.gradcheck_custom_functions import CustomGradients
    from torch_debugger.trials.nan_in_forward import Model


class StepReplays:
    """Probes run with torch functions switched off; a replay lives by them."""

    def __init__(self, watch: Watch, roots: RootModules, loaders: Loaders, lagging: AsyncSteps) -> None:
        self.watch = watch
        self.roots = roots
        self.loaders = loaders
        self.lagging = lagging

    def of_step(
        self, moments: Sequence[VariablesAt], loss: str, raised: bool = False
    ) -> tuple[Origin | None, str] | None:
        """The step under way: its own lines in a fork, or where there is none, its models right here."""
        from torch_debugger.trials.nan_in_forward import Model
        from torch_debugger.trials.nan_in_step import NonFiniteStep as Scene
        from torch_debugger.trials.nan_in_step import can_fork, find_in_step

        if in_fork() or shards_expected():
            return None
        models = [
            Model(
                module,
                root.paths,
                root.call,
                root.rng_state,
                root.device_rng,
                root.first_rng,
                root.first_device_rng,
            )
            for root, module in self.roots.alive()
        ]
        with self._for_a_replay():
            if can_fork(models):
                batch, dataset = self.loaders.last.get()
                step = Scene(moments, models, not loss, batch, dataset, self.roots.step_rng, loss, raised)
                found = find_in_step(step)
                if found:
                    return found.origin, found.how
                # The last bit decides whether an acos is asked at 1, and the fork's may be another.
                said_all = not has_other_kernels() and (bool(loss) or can_differentiate_in_fork())
                return (None if said_all else _find_here(moments[:1], models, not loss)) or (None, "step")
            return _find_here(moments[:1], models, not loss)

    def of_call(
        self, module: nn.Module, paths: dict[int, str], inputs: tuple[tuple[Any, ...], dict[str, Any]]
    ) -> tuple[Origin | None, str]:
        """One call of a model that nobody trains: in a fork, or where there is none right here."""
        from torch_debugger.trials.nan_in_forward import Model
        from torch_debugger.trials.nan_in_step import NonFiniteStep as Scene
        from torch_debugger.trials.nan_in_step import can_fork, find_in_step

        if in_fork() or shards_expected():
            return None, ""
        models = [Model(module, paths, inputs)]
        with self._for_a_replay():
            if can_fork(models):
                found = find_in_step(Scene((), models, slopes=False))
                if found or not has_other_kernels():
                    return (found.origin, found.how) if found else (None, "model")
            return _find_here((), models, False) or (None, "model")

    @contextlib.contextmanager
    def _for_a_replay(self) -> Iterator[None]:
        """What runs in it is not the training's, is seen by a hunter, and is not compiled."""
        eager = torch.compiler.set_stance("force_eager")
        with self.watch.asleep(), torch._C._EnableTorchFunction(), eager:
            yield

    def of_inputs(self, inputs: Inputs, slopes: bool) -> tuple[Origin, str] | None:
        """A step of some time ago, on the weights that were frozen with the first number not finite."""
        from torch_debugger.trials.nan_in_forward import Model

        models = [
            Model(module, root.paths, *inputs.calls[root.name])
            for root, module in self.roots.alive()
            if root.name in inputs.calls
        ]
        with self._for_a_replay(), self.lagging.weights.in_place() as kept:
            return _find_here(inputs.moments, models, slopes) if kept else None


def _find_here(moments: Sequence[VariablesAt], models: Sequence[Model], slopes: bool) -> tuple[Origin, str] | None:
    if in_process_group():  # in a fork they are left alone, but not here
        return None
    from torch_debugger.trials.nan_in_forward import find_in_model
    from torch_debugger.trials.nan_in_step import find_in_lines

    for moment in moments:
        for again in (False, True):
            origin = find_in_lines(moment, models, again=again)
            if origin is not None:
                return origin, "step"
    for model in models:
        with contextlib.suppress(Exception):  # the user's code, run again, may refuse in any way it likes
            origin = find_in_model(model, slopes=slopes)
            if origin is not None:
                return origin, "model"
    return None


# Rehearsals on a pretended accelerator: when they begin, and when they are heard.
#
# Of the script's models, and of the lines that the script has ahead of it.
class Rehearsals:
    MOST = 3  # roots rehearsed in one run
    LAST_WAIT_S = 1.0  # for a rehearsal still under way when the script ends

    def __init__(self, watch: Watch, moves: ModuleMoves, backward: Backward) -> None:
        self.watch = watch
        self.moves = moves
        self._running: list[RehearsalProcess] = []
        self._begun = 0
        self._script_begun = False
        self._roots = backward.roots
        self._roots.on_call.append(self.begin)
        backward.on_look.append(self.begin_script)
        watch.on_step.append(self.poll)

    def begin_script(self, loss: torch.Tensor, frame: FrameType | None) -> None:
        """At the first backward: the step, and all that the script has ahead of it."""
        if self._script_begun or in_fork():
            return
        self._script_begun = True
        from torch_debugger.trials.script_rehearsal import start
        from torch_debugger.trials.unmoved_tensors import unmoved_model

        moves, moments = self.moves.alive(), _own_frames()
        if not moves:
            trained = [(root.name, module) for root, module in self._roots.alive() if root.trained]
            found = unmoved_model(trained, moments, self.watch.step)
            if found is not None:
                self.watch.emit(found)
        if moves and moments:
            with torch._C._EnableTorchFunction():
                process = start(moments, moves, self.watch.step)
            if process is not None:
                self._running.append(process)

    def begin(self, root: RootModule, arguments: tuple[Any, ...], keywords: dict[str, Any]) -> None:
        module = root.module()
        if root.rehearsed or module is None or self._begun >= self.MOST:
            return
        root.rehearsed = True
        self._begun += 1
        step = self.watch.step
        with torch._C._EnableTorchFunction():  # in the fork as well
            process = RehearsalProcess.start(module, root.name, arguments, keywords, step=step)
        self._running.append(process)

    def poll(self, step: int = 0, scalars: dict[str, float] | None = None) -> None:
        for process in tuple(self._running):
            result = process.poll()
            if result is not None:
                self._running.remove(process)
                self.watch.emit(result)

    def wait(self) -> None:
        deadline = time.monotonic() + self.LAST_WAIT_S
        while self._running and time.monotonic() < deadline:
            self.watch.guard.call("rehearsal", self.poll)
            time.sleep(0.02)
        for process in self._running:
            process.close()


def _own_frames() -> list[VariablesAt]:
    """The user's, from the innermost out to where a library called them; none where it calls backward()."""
    found: list[VariablesAt] = []
    for frame in frames(2):
        if is_user_file(frame.f_code.co_filename):
            found.append(moment_of(frame))
        elif found:
            break
    return found if found and "backward" in line_at(found[0].file, found[0].line) else []


# The user's own autograd functions, checked in a process of their own while the script runs on.
class GradientTrials:
    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._running: CustomGradients | None = None

    def begin(self, function: Any, arguments: tuple[Any, ...], step: int) -> None:
        from torch_debugger.trials.gradcheck_custom_functions import CustomGradients

        self._running = self._running or CustomGradients()
        with torch._C._EnableTorchFunction():  # in the fork as well
            self._running.start(function, arguments, step)

    def end_by(self, error: BaseException) -> None:
        """What the script's own gradcheck found wrong, compared once more for the element and the factor."""
        from torch_debugger.crashes.autograd_functions import failed_gradcheck
        from torch_debugger.trials.gradcheck_custom_functions import CustomGradients

        checked = failed_gradcheck(error)
        if checked is not None:
            trial = CustomGradients()
            with torch._C._EnableTorchFunction():  # in the fork as well
                trial.start(checked.target, checked.inputs, self.watch.step, checked.function)
            for fact in trial.finish():
                if fact.outcome in ("wrong", "deliberate"):
                    self.watch.emit(dataclasses.replace(fact, outcome="wrong", ended=True))

    def poll(self, step: int = 0, scalars: dict[str, float] | None = None) -> None:
        if self._running is not None:
            self._tell(self._running.poll())

    def wait(self) -> None:
        if self._running is not None:
            self._tell(self._running.finish())

    def _tell(self, facts: Sequence[GradientCheckFact]) -> None:
        for fact in facts:
            self.watch.emit(fact)
            if fact.outcome == "unchecked":
                self.watch.notice(f"The gradient of `{fact.function}` was not checked: {fact.words}.")
