"""The look for anomalies, on and off in this thread; a switch within another changes what counts."""

from __future__ import annotations

import dataclasses
import itertools
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.records import NonFinite, Origin, Place
from torch_debugger.source.files import is_user_file, place_at
from torch_debugger.source.frames import frames, place_of, user_frame
from torch_debugger.source.variables import module_paths, name_root
from torch_debugger.trials.nan_in_backward import NodeMarks
from torch_debugger.trials.nan_in_forward import NonFiniteMode, parameter_names
from torch_debugger.trials.nan_operations import (
    FINITE,
    INF,
    NAN,
    all_finite,
    bad_ones,
    leaves_of,
    names_in,
    state_of,
    word_for,
)
from torch_debugger.trials.operation_recorder import (
    OperationRecorder,
    patch_torch,
    put_in,
    take_out,
    this_thread,
    unpatch_torch,
)
from torch_debugger.trials.operation_tape import (
    LostError,
    ResultOf,
    Tape,
    TapeReplay,
    TapeStep,
    leading_to,
    line_of,
    references,
)


@dataclass(frozen=True)
class AnomalySettings:
    """What one switch asks for."""

    kinds: AnomalyKinds
    stacklevel: int
    error: Callable[[Anomaly], Exception]


class _Current(threading.local):
    session: AnomalySession | None = None


class AnomalySession:
    """From the first switch of a thread to its last."""

    def __init__(self) -> None:
        self.recorder = OperationRecorder(self._grad)
        self.settings: AnomalySettings | None = None
        self.backwards = 0

    def start(self) -> None:
        patch_torch()
        this_thread.recorder, this_thread.backward = self.recorder, self._backward
        put_in(self.recorder)

    def stop(self) -> None:
        take_out(self.recorder)
        this_thread.recorder = this_thread.backward = None
        unpatch_torch()
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
            anomaly = recorder.guarded(self._after_backward, call) if call is not None else None
        if call is not None and not call.keeps_graph:
            recorder.guarded(recorder.tape.spend, call.steps)
        self._raise(anomaly)

    def _grad(self, results: Any, step: Any) -> None:
        with self.recorder.standing_by():
            anomaly = self.recorder.guarded(self._after_grad, results, step)
        self._raise(anomaly)

    def end(self, since: int, backwards: int) -> None:
        """Of a region that nothing was raised in."""
        if self.recorder.fault:
            warnings.warn(f"detect_anomaly has stopped looking: {self.recorder.fault}", stacklevel=4)
        if self.backwards == backwards:
            with self.recorder.standing_by():
                anomaly = self.recorder.guarded(self._at_end, since)
            self._raise(anomaly)

    @property
    def _kinds(self) -> AnomalyKinds:
        assert self.settings is not None
        return self.settings.kinds

    def _raise(self, anomaly: Anomaly | None) -> None:
        if anomaly is not None and self.settings is not None:
            raise self.settings.error(anomaly)

    def _after_backward(self, call: BackwardCall) -> Anomaly | None:
        """One look at the losses and the gradients together, so that a device is waited for only once."""
        tape = self.recorder.tape
        gradients = [leaf.grad for leaf in call.leaves if leaf.grad is not None]
        if all_finite([*call.losses, *gradients, *call.marks.tensors()]):
            return None
        losses = self._kinds.among(call.losses)
        targets = [made for made in map(tape.made, call.losses) if made is not None]
        before = unscaled(targets)
        if losses and not before:
            return self._traced("loss", losses[0], targets, None)
        bad = self._kinds.among(gradients)
        wrong = {id(gradient) for gradient, _ in bad}
        leaves = [leaf for leaf in call.leaves if leaf.grad is not None and id(leaf.grad) in wrong]
        mark = call.marks.nan() if self._kinds.nan else None
        if mark is not None and not bad:
            bad = [(mark, NAN)]  # a mask has kept it from the leaves
        if not bad:
            return None
        slope = Slope(None if before else call.gradients, [tape.made(leaf) or leaf for leaf in call.leaves])
        found = self._traced("gradient", bad[0], before or targets, slope, leaves)
        if found is None or found.fact.origin is not None:
            return found
        if before:
            return None  # of a scaled loss too large gradients are to be expected: the loss itself has no bad ones
        if mark is None:
            return found
        fact = dataclasses.replace(found.fact, origin=call.marks.origin(), how="graph")
        return dataclasses.replace(found, fact=fact)

    def _after_grad(self, results: Sequence[Any], step: Any) -> Anomaly | None:
        """torch.autograd.grad has given these."""
        arrived = [(index, each) for index, each in enumerate(results) if each is not None]
        bad = self._kinds.among([each for _, each in arrived])
        if not bad:
            return None
        index = next(index for index, each in arrived if each is bad[0][0])
        return self._traced("gradient", bad[0], [ResultOf(step, index)], None)

    def _at_end(self, since: int) -> Anomaly | None:
        """Without a backward: what was made and never used, or read as a number."""
        ends = self.recorder.tape.ends(since)
        made = {id(tensor): each for tensor, each in ends}
        bad = [(each, made[id(each[0])]) for each in self._kinds.among([tensor for tensor, _ in ends])[:5]]
        for each, end in itertools.chain(bad, self._surfaced()):
            found = self._traced("result", each, [end], None)
            origin = found.fact.origin if found is not None else None
            if origin is None or origin.phase not in _MADE_HERE:
                continue
            if not any(argument.endswith("nan") for argument in origin.arguments):  # else written there as a NaN
                return found
        return None

    def _surfaced(self) -> Iterator[tuple[tuple[torch.Tensor, str], ResultOf]]:
        if self.recorder.surfaced is not None:
            made, value = self.recorder.surfaced
            yield from ((bad, made) for bad in self._kinds.among([torch.tensor(value)]))

    def _traced(
        self,
        what: str,
        bad: tuple[torch.Tensor, str],
        targets: Sequence[ResultOf],
        slope: Slope | None,
        leaves: Iterable[torch.Tensor] = (),
    ) -> Anomaly | None:
        """None where it turns out to be an Inf that the user has put there."""
        traced, hindrance = _try(targets, slope)
        if traced.innocent:
            return None
        site = place_of(user_frame(2))
        # net.fc.weight for those of the modules that lead to the targets; else the variable's name
        known = _names(TapeReplay(leading_to(made.step for made in targets)))[1]
        names = tuple(known[id(tensor)] for tensor in leaves if id(tensor) in known)
        if traced.origin is not None and traced.origin.phase == "weights":
            names = (traced.origin.given,)
        how = "step" if traced.origin is not None else ""
        fact = NonFinite(0, what, word_for(*bad), site, traced.origin, names, how)
        return Anomaly(fact, traced.lines, hindrance)


_current = _Current()


def current_session() -> AnomalySession | None:
    return _current.session


def switch(settings: AnomalySettings | None) -> AnomalySettings | None:
    """From now on these count in this thread, nothing with None; those from before come back."""
    session = _current.session
    before = session.settings if session is not None else None
    if settings is None and session is not None:
        session.stop()
        _current.session = None
    elif settings is not None:
        if session is None:
            _current.session = session = AnomalySession()
            session.start()
        session.settings, session.recorder.stacklevel = settings, settings.stacklevel
    return before


_MADE_HERE = ("forward", "loss", "backward", "weights")  # and not given, as NaN paddings are


@dataclass(frozen=True)
class AnomalyKinds:
    """What counts as an anomaly."""

    nan: bool = True
    inf: bool = True

    def state(self, state: str) -> bool:
        return (state == NAN and self.nan) or (state == INF and self.inf)

    def among(self, tensors: Sequence[torch.Tensor]) -> list[tuple[torch.Tensor, str]]:
        if all_finite(tensors):
            return []
        return [(tensor, state) for tensor, state in bad_ones(tensors) if self.state(state)]


@dataclass(frozen=True)
class Anomaly:
    fact: NonFinite
    lines: tuple[Place, ...] = ()  # of the user's, that led to the op, the innermost first
    hindrance: str = ""  # why it could not be traced for certain


def _try(targets: Sequence[ResultOf], slope: Slope | None) -> tuple[Traced, str]:
    if not targets:
        return Traced(None), "it was computed in a compiled function, or before `detect_anomaly` was on"
    try:
        traced = trace(targets, slope)
    except LostError:
        return Traced(None), "a part of it was computed too long ago"
    except Exception as error:  # the user's code may raise anything when it runs a second time
        return Traced(None), f"it could not be run again ({type(error).__name__}: {error})"
    if traced.out_of_sight:
        return traced, "it came out of a compiled function, or was computed before `detect_anomaly` was on"
    if traced.was_changed:
        return traced, "a tensor it was computed from has been written into since"
    return traced, "" if traced.origin is not None else "it was run again and gave finite numbers"


@dataclass(frozen=True)
class Slope:
    """A backward to run after the steps."""

    gradients: Any  # what it was given
    leaves: Sequence[torch.Tensor | ResultOf]


@dataclass(frozen=True)
class Traced:
    origin: Origin | None
    lines: tuple[Place, ...] = ()  # of the user's, that led to it, the innermost first
    innocent: bool = False  # an Inf that the user has put there
    was_changed: bool = False  # something was written into since the steps ran first
    out_of_sight: bool = False  # what it came in with was computed where nothing is recorded


def trace(targets: Sequence[ResultOf], slope: Slope | None = None) -> Traced:
    """Runs the steps that lead to the targets once more, and maybe a backward from there."""
    again = TapeReplay(leading_to(made.step for made in targets))
    paths, names, variables = _names(again)
    # what the training learns, wherever it is; the rest are inputs
    learned = {id(tensor) for module in again.modules for tensor in (*module.parameters(), *module.buffers())}
    learned |= {id(tensor) for tensor in again.starts() if isinstance(tensor, nn.Parameter)}
    parameters = {key: name for key, name in names.items() if key in learned}
    hunter = NonFiniteMode(paths, parameters, again.names(variables))
    with again.prepared():
        again.run(hunter)
        results = [again.result(made.step, made.index) for made in targets]
        found = hunter.origin_of(results)
        if found is None and slope is not None:
            leaves = [again.of(leaf) for leaf in slope.leaves]
            hunter.backward_apart(results, slope.gradients, [*leaves, *again.starts()])
        if found is None or found.op == "grad":
            found = hunter.slope() or found
    innocent = any(hunter.is_innocent(result) for result in results)
    lines = _lines(found, again.steps) if found is not None else ()
    if found is None or found.phase == "input":
        unseen = again.from_out_of_sight()
        if any(found is None or state_of(tensor) != FINITE for tensor in unseen):
            return Traced(None, out_of_sight=True)
    return Traced(found, lines, innocent, again.was_changed)


def _names(again: TapeReplay) -> tuple[dict[int, str], dict[int, str], dict[int, str]]:
    """Of modules, of tensors, and of those tensors that a variable of the user's holds."""
    own = [frame for frame in frames(2) if is_user_file(frame.f_code.co_filename)]
    variables: dict[int, str] = {}
    for frame in own:  # the innermost first, whose names count
        variables = names_in(frame) | variables
    paths: dict[int, str] = {}
    for module in again.modules:
        paths = module_paths(module, name_root(module, own[0] if own else None)) | paths
    names = dict(variables)
    for module in again.modules:
        names |= parameter_names(module, paths)
    return paths, names, variables


def _lines(origin: Origin, steps: Sequence[TapeStep]) -> tuple[Place, ...]:
    """The op's own line, and those of the step it belongs to."""
    called = [places_of(step) for step in steps]
    own = [places for places in called if places and _same(places[0], origin.place)]
    if own:
        return own[0]
    modules = [step for step in steps if isinstance(step.function, torch.nn.Module)]
    return (origin.place, *(places_of(modules[0]) if len(modules) == 1 else ()))


def places_of(step: TapeStep) -> tuple[Place, ...]:
    return tuple(place_at(code.co_filename, line_of(code, at)) for code, at in step.frames[1:])


def _same(one: Place, other: Place) -> bool:
    return (one.file, one.line) == (other.file, other.line)


# One call of torch.autograd.backward: what it was given, and whose gradients it makes.
class BackwardCall:
    """Made before it runs, for it frees the graph."""

    def __init__(
        self,
        tape: Tape,
        tensors: Any,
        grad_tensors: Any = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        grad_variables: Any = None,
        inputs: Any = None,
    ) -> None:
        roots = (tensors,) if not isinstance(tensors, (tuple, list)) else tensors
        self.losses = [each for each in roots if isinstance(each, torch.Tensor)]
        self.gradients = grad_tensors if grad_tensors is not None else grad_variables
        self.keeps_graph = bool(create_graph if retain_graph is None else retain_graph)
        self.steps = [made.step for made in map(tape.made, self.losses) if made is not None]
        if inputs is not None:
            self.leaves = [inputs] if isinstance(inputs, torch.Tensor) else list(inputs)
        else:
            found, hidden = leaves_of(self.losses)
            if hidden:
                modules = (step.function for step in leading_to(self.steps) if isinstance(step.function, nn.Module))
                found += [parameter for module in modules for parameter in module.parameters()]
            self.leaves = list({id(leaf): leaf for leaf in found}.values())
        self.marks = NodeMarks(self.losses)


def unscaled(targets: Sequence[ResultOf]) -> list[ResultOf]:
    """The losses before a GradScaler has scaled them; empty where none did."""
    callers = [made.step.frames[:1] for made in targets]
    if not all(frames and frames[0][0].co_filename.endswith("grad_scaler.py") for frames in callers):
        return []
    operands = [references(made.step.arguments) for made in targets]
    return [each for found in operands for each in found[:1] if isinstance(each, ResultOf)]
