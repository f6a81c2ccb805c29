"""The look for anomalies, on and off in this thread; a switch within another changes what is minded."""

from __future__ import annotations

import dataclasses
import threading
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import FrameType
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
from torch_debugger.trials.operation_recorder import Recorder, patch_torch, put_in, take_out, this_thread, unpatch_torch
from torch_debugger.trials.operation_tape import (
    LostError,
    Made,
    Step,
    Tape,
    TapeReplay,
    leading_to,
    line_of,
    references,
)


@dataclass(frozen=True)
class Wish:
    """What one switch asks for."""

    minded: Minded
    stacklevel: int
    error: Callable[[Anomaly], Exception]


class _Current(threading.local):
    session: Session | None = None


class Session:
    """From the first switch of a thread to its last."""

    def __init__(self) -> None:
        self.recorder = Recorder(self._grad)
        self.wish: Wish | None = None
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
            anomaly = recorder.guarded(self._watch().after_backward, call) if call is not None else None
        if call is not None and not call.keeps_graph:
            recorder.guarded(recorder.tape.spend, call.steps)
        self._raise(anomaly)

    def _grad(self, results: Any, step: Any) -> None:
        with self.recorder.standing_by():
            anomaly = self.recorder.guarded(self._watch().after_grad, results, step)
        self._raise(anomaly)

    def end(self, since: int, backwards: int) -> None:
        """Of a region that nothing was raised in."""
        if self.recorder.fault:
            warnings.warn(f"detect_anomaly has stopped looking: {self.recorder.fault}", stacklevel=4)
        if self.backwards == backwards:
            with self.recorder.standing_by():
                anomaly = self.recorder.guarded(self._watch().at_end, since)
            self._raise(anomaly)

    def _watch(self) -> Watch:
        assert self.wish is not None
        return Watch(self.recorder, self.wish.minded)

    def _raise(self, anomaly: Anomaly | None) -> None:
        if anomaly is not None and self.wish is not None:
            raise self.wish.error(anomaly)


_current = _Current()


def current_session() -> Session | None:
    return _current.session


def switch(wish: Wish | None) -> Wish | None:
    """From now on this is minded in this thread, nothing with None; what was minded before comes back."""
    session = _current.session
    before = session.wish if session is not None else None
    if wish is None and session is not None:
        session.stop()
        _current.session = None
    elif wish is not None:
        if session is None:
            _current.session = session = Session()
            session.start()
        session.wish, session.recorder.stacklevel = wish, wish.stacklevel
    return before


# A piece of training in which no NaN or Inf passes unseen: looked for at backward, traced on the tape.
_MADE_HERE = ("forward", "loss", "backward", "weights")  # and not given, as NaN paddings are


@dataclass(frozen=True)
class Minded:
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


class Watch:
    """Looks at what a recorder has recorded."""

    def __init__(self, recorder: Recorder, minded: Minded) -> None:
        self.recorder = recorder
        self.minded = minded

    def after_backward(self, call: BackwardCall) -> Anomaly | None:
        """One look at the losses and the gradients together, so that a device is waited for only once."""
        gradients = [leaf.grad for leaf in call.leaves if leaf.grad is not None]
        if all_finite([*call.losses, *gradients, *call.marks.tensors()]):
            return None
        losses = self.minded.among(call.losses)
        targets = [made for made in map(self.recorder.tape.made, call.losses) if made is not None]
        if losses and not unscaled(targets):
            return self._traced("loss", losses[0], targets, None)
        bad = self.minded.among(gradients)
        wrong = {id(gradient) for gradient, _ in bad}
        leaves = [leaf for leaf in call.leaves if leaf.grad is not None and id(leaf.grad) in wrong]
        mark = call.marks.nan() if self.minded.nan else None
        if mark is not None and not bad:
            bad = [(mark, NAN)]  # a mask has kept it from the leaves
        found = self._of_gradients(bad[0], targets, call, leaves) if bad else None
        if found is None or found.fact.origin is not None or mark is None:
            return found
        fact = dataclasses.replace(found.fact, origin=call.marks.origin(), how="graph")
        return dataclasses.replace(found, fact=fact)

    def _of_gradients(
        self, bad: tuple[torch.Tensor, str], targets: list[Made], call: BackwardCall, leaves: list[torch.Tensor]
    ) -> Anomaly | None:
        """Of a scaled loss too large gradients are to be expected: the loss itself must have bad ones."""
        before = unscaled(targets)
        gradients = None if before else call.gradients
        slope = Slope(gradients, [self.recorder.tape.made(leaf) or leaf for leaf in call.leaves])
        found = self._traced("gradient", bad, before or targets, slope, leaves)
        return found if not before or (found is not None and found.fact.origin is not None) else None

    def after_grad(self, results: Sequence[Any], step: Any) -> Anomaly | None:
        """torch.autograd.grad has given these."""
        held = [(index, each) for index, each in enumerate(results) if each is not None]
        bad = self.minded.among([each for _, each in held])
        if not bad:
            return None
        index = next(index for index, each in held if each is bad[0][0])
        return self._traced("gradient", bad[0], [Made(step, index)], None)

    def at_end(self, since: int) -> Anomaly | None:
        """Without a backward: what was made and never used, or read as a number."""
        ends = self.recorder.tape.ends(since)
        bad = self.minded.among([tensor for tensor, _ in ends])
        made = {id(tensor): each for tensor, each in ends}
        for tensor, state in bad[:5]:
            found = self._traced("result", (tensor, state), [made[id(tensor)]], None)
            if found is not None and _was_made_here(found):
                return found
        return self._of_surfaced()

    def _of_surfaced(self) -> Anomaly | None:
        if self.recorder.surfaced is None:
            return None
        made, value = self.recorder.surfaced
        bad = self.minded.among([torch.tensor(value)])
        found = self._traced("result", bad[0], [made], None) if bad else None
        return found if found is not None and _was_made_here(found) else None

    def _traced(
        self,
        what: str,
        bad: tuple[torch.Tensor, str],
        targets: Sequence[Made],
        slope: Slope | None,
        leaves: Iterable[torch.Tensor] = (),
    ) -> Anomaly | None:
        """None where it turns out to be an Inf that the user has put there."""
        traced, hindrance = _try(targets, slope)
        if traced.innocent:
            return None
        site = place_of(user_frame(2))
        names = tuple(name_tensors(leaves, targets))
        if traced.origin is not None and traced.origin.phase == "weights":
            names = (traced.origin.given,)
        how = "step" if traced.origin is not None else ""
        fact = NonFinite(0, what, word_for(*bad), site, traced.origin, names, how)
        return Anomaly(fact, traced.lines, hindrance)


def _try(targets: Sequence[Made], slope: Slope | None) -> tuple[Traced, str]:
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


def _was_made_here(found: Anomaly) -> bool:
    """By an op, and not written there as a NaN."""
    origin = found.fact.origin
    if origin is None or origin.phase not in _MADE_HERE:
        return False
    return not any(argument.endswith("nan") for argument in origin.arguments)


# From results that are not finite back to the op that made them so.
@dataclass(frozen=True)
class Slope:
    """A backward to run after the steps."""

    gradients: Any  # what it was given
    leaves: Sequence[torch.Tensor | Made]


@dataclass(frozen=True)
class Traced:
    origin: Origin | None
    lines: tuple[Place, ...] = ()  # of the user's, that led to it, the innermost first
    innocent: bool = False  # an Inf that the user has put there
    was_changed: bool = False  # something was written into since the steps ran first
    out_of_sight: bool = False  # what it came in with was computed where nothing is recorded


def trace(targets: Sequence[Made], slope: Slope | None = None) -> Traced:
    """Runs the steps that lead to the targets once more, and maybe a backward from there."""
    again = TapeReplay(leading_to(made.step for made in targets))
    hunter = _hunter(again)
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


def _hunter(again: TapeReplay) -> NonFiniteMode:
    paths, names, variables = _names(again)
    return NonFiniteMode(paths, _of_parameters(again, names), again.names(variables))


def _names(again: TapeReplay) -> tuple[dict[int, str], dict[int, str], dict[int, str]]:
    """Of modules, of tensors, and of those tensors that a variable of the user's holds."""
    own = [frame for frame in frames(2) if is_user_file(frame.f_code.co_filename)]
    variables = _variables(own)
    paths: dict[int, str] = {}
    for module in again.modules:
        paths = module_paths(module, name_root(module, own[0] if own else None)) | paths
    names = dict(variables)
    for module in again.modules:
        names |= parameter_names(module, paths)
    return paths, names, variables


def name_tensors(tensors: Iterable[torch.Tensor], targets: Sequence[Made]) -> list[str]:
    """net.fc.weight for those of the modules that lead to the targets; else the variable's name"""
    again = TapeReplay(leading_to(made.step for made in targets))
    names = _names(again)[1]
    return [names[id(tensor)] for tensor in tensors if id(tensor) in names]


def _of_parameters(again: TapeReplay, names: dict[int, str]) -> dict[int, str]:
    """Names of what the training learns, wherever it is held; the rest are inputs."""
    held = {id(tensor) for module in again.modules for tensor in (*module.parameters(), *module.buffers())}
    held |= {id(tensor) for tensor in again.starts() if isinstance(tensor, torch.nn.Parameter)}
    return {key: name for key, name in names.items() if key in held}


def _variables(own: Sequence[FrameType]) -> dict[int, str]:
    """id of a tensor -> the variable that holds it, the innermost frame first"""
    found: dict[int, str] = {}
    for frame in own:
        found = names_in(frame) | found
    return found


def _lines(origin: Origin, steps: Sequence[Step]) -> tuple[Place, ...]:
    """The op's own line, and those of the step it belongs to."""
    called = [places_of(step) for step in steps]
    own = [places for places in called if places and _same(places[0], origin.place)]
    if own:
        return own[0]
    modules = [step for step in steps if isinstance(step.function, torch.nn.Module)]
    return (origin.place, *(places_of(modules[0]) if len(modules) == 1 else ()))


def places_of(step: Step) -> tuple[Place, ...]:
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
        given = (tensors,) if not isinstance(tensors, (tuple, list)) else tensors
        self.losses = [each for each in given if isinstance(each, torch.Tensor)]
        self.gradients = grad_tensors if grad_tensors is not None else grad_variables
        self.keeps_graph = bool(create_graph if retain_graph is None else retain_graph)
        self.steps = [made.step for made in map(tape.made, self.losses) if made is not None]
        self.leaves = self._leaves(inputs)
        self.marks = NodeMarks(self.losses)

    def _leaves(self, inputs: Any) -> list[torch.Tensor]:
        if inputs is not None:
            return [inputs] if isinstance(inputs, torch.Tensor) else list(inputs)
        found, hidden = leaves_of(self.losses)
        if hidden:
            modules = (step.function for step in leading_to(self.steps) if isinstance(step.function, nn.Module))
            found += [parameter for module in modules for parameter in module.parameters()]
        return list({id(leaf): leaf for leaf in found}.values())


def unscaled(targets: Sequence[Made]) -> list[Made]:
    """The losses before a GradScaler has scaled them; empty where none did."""
    if not targets or not all(_is_scaling(made) for made in targets):
        return []
    operands = [references(made.step.arguments) for made in targets]
    return [each for found in operands for each in found[:1] if isinstance(each, Made)]


def _is_scaling(made: Made) -> bool:
    frames = made.step.frames
    return bool(frames) and frames[0][0].co_filename.endswith("grad_scaler.py")
