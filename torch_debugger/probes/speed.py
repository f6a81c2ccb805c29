"""What decides how fast a training can be and is set once: switches of torch, threads, the device."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable
from types import FrameType, ModuleType
from typing import Any

import torch
from torch import nn

from torch_debugger.model.hooks import something_is_compiled
from torch_debugger.probes.watch import Watch
from torch_debugger.records import Place, RowPasses, SpeedSettings, StackNode, TakenRows
from torch_debugger.source.calls import calls_of
from torch_debugger.source.files import is_user_file, place_at
from torch_debugger.source.frames import frames, locals_of
from torch_debugger.source.objects import is_a
from torch_debugger.source.row_loops import RowLoop, row_loop_at
from torch_debugger.stats.resources import usable_cores
from torch_debugger.system.signals import is_the_scripts


class SpeedSetup:
    """Told when the first steps are over: by then a script has made its settings."""

    AT_STEP = 4

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        watch.on_step.append(self._step_done)

    def _step_done(self, step: int, scalars: dict[str, float]) -> None:
        if step == self.AT_STEP:
            self.watch.probe("speed settings", self._tell, step)

    def _tell(self, step: int) -> None:
        self.watch.emit(read_settings(step, on_cuda=self.watch.on_device))


def read_settings(step: int, *, on_cuda: bool) -> SpeedSettings:
    device = torch.cuda.get_device_properties(torch.cuda.current_device()) if on_cuda else None
    return SpeedSettings(
        device="cuda" if on_cuda else "cpu",
        device_name=torch.cuda.get_device_name() if on_cuda else "",
        capability=torch.cuda.get_device_capability() if on_cuda else (0, 0),
        cores=usable_cores(),
        threads=torch.get_num_threads(),
        tf32_matmul=_is_tf32(torch.backends.cuda.matmul),
        tf32_cudnn=_is_tf32(getattr(torch.backends.cudnn, "conv", torch.backends.cudnn)),
        cudnn_benchmark=torch.backends.cudnn.benchmark,
        deterministic=torch.are_deterministic_algorithms_enabled(),
        anomaly_mode=torch.is_anomaly_enabled(),
        step=step,
        anomaly_at=_line_that_calls("set_detect_anomaly", "detect_anomaly"),
        threads_at=_line_that_calls("set_num_threads"),
        device_bytes=int(device.total_memory) if device is not None else 0,
    )


def _line_that_calls(*names: str) -> Place:
    """In the files that are running, the innermost first."""
    running = dict.fromkeys(frame.f_code.co_filename for frame in frames())
    files = [file for file in running if is_user_file(file)]
    return next((place for name in names for file in files for _, place in calls_of(file, name)), Place())


def _is_tf32(part: Any) -> bool:
    """Of the two switches that torch has, the old one cannot be read once the new one was set."""
    precision = getattr(part, "fp32_precision", "")
    return bool(precision == "tf32" if precision else part.allow_tf32)


# Whether a loop goes through the rows of tensors, and how often in a step: looked at once, in one step.
#
# A trace function is on for that step, in the one function that holds the loop; everywhere else it says no.

# Of one row these make other numbers than of all rows at once, or carry something from call to call.
_APART = (nn.modules.batchnorm._BatchNorm, nn.RNNBase, nn.RNNCellBase, nn.modules.instancenorm._InstanceNorm)


class RowPassLooks:
    """One loop at a time, the dearest first; each of them once."""

    LEAST_SHARE = 0.05  # of the samples
    MOST_LOOKS = 3  # of a run
    MOST_PASSES = 2000  # counted: a pass under way costs some microseconds

    def __init__(self, watch: Watch) -> None:
        self.watch = watch
        self._known: set[tuple[str, int]] = set()
        self._waiting: list[tuple[str, RowLoop]] = []
        self._count: PassCount | None = None

    def consider(self, nodes: Iterable[StackNode], samples: int) -> None:
        """Loops that lines of these stacks stand in."""
        shares: dict[tuple[str, RowLoop], int] = {}
        for node in nodes:
            file, line = node.place.file, node.place.line
            loop = row_loop_at(file, line) if node.is_users and file and line else None
            if loop is not None and file:
                shares[file, loop] = shares.get((file, loop), 0) + node.total
        for (file, loop), share in sorted(shares.items(), key=lambda item: -item[1]):
            if share < self.LEAST_SHARE * samples or len(self._known) >= self.MOST_LOOKS:
                break
            if (file, loop.header) not in self._known:
                self._known.add((file, loop.header))
                self._waiting.append((file, loop))

    def step_done(self, step: int) -> None:
        if self._count is not None:
            count, self._count = self._count, None
            count.stop()
            if count.fault is not None:
                raise count.fault
            if count.taken:
                self.watch.emit(count.told(step))
            return
        # Python has room for one tracer, and compiled functions are left alone. Python 3.10 leaves the variables of a
        # frame that was traced with it, and so keeps them alive.
        untraced = sys.gettrace() is None and threading.gettrace() is None
        if self._waiting and sys.version_info >= (3, 11) and untraced and not something_is_compiled():
            self._count = PassCount(*self._waiting.pop(0), self.MOST_PASSES)
            self._count.start()

    def finish(self) -> None:
        if self._count is not None:
            self._count.stop()
            self._count = None


class PassCount:
    """From start to stop, which are called from below the user's loop over steps."""

    def __init__(self, file: str, loop: RowLoop, most: int) -> None:
        self.passes = 0
        self.taken: tuple[TakenRows, ...] = ()
        self.is_differentiated = False
        self.fault: Exception | None = None  # of ours: an exception of a trace function would be the user's
        self._file, self._loop, self._most = file, loop, most
        self._looked = False
        self._before = 0  # the last line that was come to
        self._changed: list[FrameType] = []

    def told(self, step: int) -> RowPasses:
        loop = self._loop
        return RowPasses(
            place_at(self._file, loop.header),
            loop.last,
            self.taken,
            self.passes,
            loop.sums_up,
            self.is_differentiated,
            step,
        )

    def start(self) -> None:
        """The frames that run already are traced too: a loss may be computed in the loop over steps."""
        for frame in frames(2):
            if self._holds(frame) and frame.f_trace is None:
                frame.f_trace = self._in_frame
                self._changed.append(frame)
        sys.settrace(self._on_call)

    def stop(self) -> None:
        if sys.gettrace() == self._on_call:
            sys.settrace(None)
        for frame in self._changed:
            frame.f_trace = None
            locals_of(frame)  # lets go of what tracing keeps of it
        self._changed = []

    def _holds(self, frame: FrameType) -> bool:
        """Whether the loop stands in this function, or is it: a comprehension is one of its own."""
        code = frame.f_code
        if code.co_filename != self._file or code.co_firstlineno > self._loop.header:
            return False
        return any(line is not None and line >= self._loop.header for _, _, line in code.co_lines())

    def _on_call(self, frame: FrameType, event: str, argument: Any) -> Any:
        try:
            return self._in_frame if self._holds(frame) else None
        except Exception as error:
            return self._give_up(error)

    def _in_frame(self, frame: FrameType, event: str, argument: Any) -> Any:
        try:
            if event == "line":
                self._come_to(frame)
        except Exception as error:
            return self._give_up(error)
        return self._in_frame

    def _give_up(self, error: Exception) -> None:
        if is_the_scripts(error):
            raise error
        sys.settrace(None)
        self.fault = error

    def _come_to(self, frame: FrameType) -> None:
        line, loop = frame.f_lineno, self._loop
        inside = loop.header <= line <= loop.last
        if inside and not self._looked:
            self._looked = True
            names = _Names(frame)
            self.taken = names.taken(loop)
            values = [names.value(name) for name, _ in loop.taken]
            modules = [module for name in loop.called if isinstance(module := names.value(name), nn.Module)]
            values += [each for module in modules for each in module.parameters()]
            learned = any(is_a(each, torch.Tensor) and each.requires_grad for each in values)
            self.is_differentiated = torch.is_grad_enabled() and learned
            if not self.taken:
                sys.settrace(None)
                return
        # Each pass comes back to the first line; a comprehension may have no other.
        first = line == loop.header
        back = loop.header < self._before <= loop.last or (loop.is_comprehension and self._before == line)
        self.passes += first and back
        self._before = line if inside else 0
        if self.passes >= self._most:
            sys.settrace(None)


class _Names:
    """What names mean in a frame, without running a line of the user's."""

    def __init__(self, frame: FrameType) -> None:
        # Not emptied: when a trace function returns, Python writes what it was shown back into the frame.
        self._variables = [dict(frame.f_locals)]
        if frame.f_code.co_name.startswith("<") and frame.f_back is not None:  # a comprehension, before 3.12
            self._variables.append(locals_of(frame.f_back))
        self._variables.append(frame.f_globals)

    def value(self, name: str) -> Any:
        first, *others = name.split(".")
        value = next((each[first] for each in self._variables if first in each), None)
        for other in others:
            value = getattr(value, other, None) if is_a(value, ModuleType) else _stored_attribute(value, other)
        return value

    def taken(self, loop: RowLoop) -> tuple[TakenRows, ...]:
        """Nothing, unless all that is taken apart are tensors and all that is called is torch's."""
        if not all(map(self.is_torch_call, loop.called)):
            return ()
        named = [(self.value(name), name, dim) for name, dim in loop.taken]
        if not all(is_a(value, torch.Tensor) and value.dim() > dim for value, _, dim in named):
            return ()
        return tuple(TakenRows(name, tuple(value.shape), dim) for value, name, dim in named)

    def is_torch_call(self, name: str) -> bool:
        """torch.relu, x.sum, self.layer"""
        first = self.value(name.split(".")[0])
        if is_a(first, ModuleType):
            return first.__name__.split(".")[0] == "torch"
        called, owner = self.value(name), self.value(name.rpartition(".")[0])
        if isinstance(called, nn.Module):
            return not any(isinstance(each, _APART) for each in called.modules())
        return is_a(owner, torch.Tensor) or getattr(called, "__module__", None) in (
            "torch",
            "torch._C._nn",
            "torch.nn.functional",
        )


def _stored_attribute(value: Any, name: str) -> Any:
    inside = getattr(value, "__dict__", {})
    parts = (inside, *(inside.get(part, {}) for part in ("_modules", "_parameters", "_buffers")))
    return next((part[name] for part in parts if name in part), None)
