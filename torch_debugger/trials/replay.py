"""A step's forward run once more, op by op: which op made something not finite?

Runs where the step left off, on the same inputs, weights and random state, without gradients,
and leaves no trace: buffers and random state are put back and prints are swallowed. Ops are
seen as the user wrote them (torch.log, x / y, F.softmax), through a function mode.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from torch_debugger.anatomy.frames import frames, locals_of
from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.anatomy.rerun import leaving_no_trace
from torch_debugger.anatomy.sources import is_user_file, place_at
from torch_debugger.records import Origin, Place
from torch_debugger.stats.words import describe_operand

# These put Inf where the user asked for it; a mask is no fault.
_MASKS = ("masked_fill", "masked_fill_", "where", "full", "full_like", "new_full", "fill_", "__setitem__")


def find_origin(
    module: nn.Module,
    paths: dict[int, str],
    call: tuple[tuple[Any, ...], dict[str, Any]],
    rng_state: torch.Tensor | None,
    *,
    slopes: bool = False,
) -> Origin | None:
    """The op that made a NaN or Inf in this forward, or None if all of it was finite.

    With `slopes`, ops whose derivative is infinite at their operands count instead.
    """
    arguments, keywords = _copied(call)
    wrong = [value for value in tensors_in((arguments, keywords)) if _is_wrong_input(value)]
    if wrong:
        operand = describe_operand("input", wrong[0])
        return Origin("input", paths.get(id(module)), None, Place(), (operand,))
    mode = _Hunter(paths, slopes)
    with leaving_no_trace(module), torch.no_grad():
        if rng_state is not None:
            torch.set_rng_state(rng_state)
        with mode:
            output = module._call_impl(*arguments, **keywords)  # type: ignore[no-untyped-call]
        return mode.origin() or mode.origin_of_inf(output)


class _Op:
    """An op about to run, and its operands as they are before it: some ops write over theirs."""

    def __init__(self, name: str, given: Any) -> None:
        self.name = name
        found = list(tensors_in(given))
        self.states = {id(operand): _state(operand) for operand in found}
        writes = name.startswith("__i") or (name.endswith("_") and not name.endswith("__"))
        self.operands = [operand.detach().clone() for operand in found] if writes else found

    def is_steep(self, arguments: tuple[Any, ...]) -> bool:
        """Derivatives that are infinite or undefined: sqrt and log at 0, x**p (p < 1) at 0, acos at 1."""
        if not self.operands or not self.operands[0].is_floating_point():
            return False
        op, value = self.name.rstrip("_") or self.name, self.operands[0].detach()
        with torch._C.DisableTorchFunctionSubclass():
            if op in ("sqrt", "rsqrt", "log"):
                return bool((value == 0).any())
            if op in ("acos", "asin", "arccos", "arcsin"):
                return bool((value.abs() == 1).any())
            if op in ("pow", "__pow"):
                exponent = arguments[1] if len(arguments) > 1 else None
                return isinstance(exponent, float) and exponent < 1 and bool((value == 0).any())
            if op in ("std", "var") and value.numel():
                return bool((value == value.reshape(-1)[0]).all())
        return False


class _Hunter(TorchFunctionMode):
    def __init__(self, paths: dict[int, str], slopes: bool) -> None:
        super().__init__()
        self._paths = paths
        self._slopes = slopes
        self._found: Origin | None = None
        self._sources: dict[int, Origin | None] = {}  # id of a tensor with Inf in it -> who made that
        self._kept: list[torch.Tensor] = []  # ids stay unique only while the tensors live

    def origin(self) -> Origin | None:
        return self._found

    def origin_of_inf(self, output: Any) -> Origin | None:
        """Who made the Inf that came out; one that a mask put there was made by nobody."""
        sources = (self._sources.get(id(made)) for made in tensors_in(output))
        return next((source for source in sources if source is not None), None)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if self.origin() is not None:
            return func(*args, **(kwargs or {}))
        op = _Op(_name(func), (args, kwargs))
        if self._slopes and op.is_steep(args):
            self._found = self._describe("backward", op)
        result = func(*args, **(kwargs or {}))
        if not self._slopes:
            for made in tensors_in(result):
                state = _state(made)
                if state != "finite":
                    self._blame(op, made, state)
        return result

    def _blame(self, op: _Op, made: torch.Tensor, state: str) -> None:
        if state == "nan" and "nan" in op.states.values():
            return  # passed on
        infinite = [key for key, kind in op.states.items() if kind == "inf"]
        inherited = next((self._sources.get(key) for key in infinite), None)
        if state == "nan":
            self._found = inherited or self._describe("forward", op)
            return
        self._sources[id(made)] = inherited if infinite or op.name in _MASKS else self._describe("forward", op)
        self._kept.append(made)

    def _describe(self, phase: str, op: _Op) -> Origin:
        place, module = self._where()
        words = tuple(
            describe_operand(f"operand {index + 1}", value) for index, value in enumerate(op.operands[:3])
        )
        return Origin(phase, module, op.name, place, words)

    def _where(self) -> tuple[Place, str | None]:
        place, module = Place(), None
        for frame in frames(3):
            code = frame.f_code
            first = locals_of(frame).get(code.co_varnames[0]) if code.co_varnames else None
            if module is None and isinstance(first, nn.Module) and id(first) in self._paths:
                module = self._paths[id(first)]
            if not place and is_user_file(code.co_filename):
                place = place_at(code.co_filename, frame.f_lineno)
            if place and module:
                break
        return place, module


def _is_wrong_input(tensor: torch.Tensor) -> bool:
    """NaN or Inf in what the model was given; -Inf alone is how masks are written."""
    state = _state(tensor)
    return state == "nan" or (state == "inf" and bool((tensor == math.inf).any()))


def _copied(value: Any) -> Any:
    """An op of the model's that writes into its input must not reach the user's batch a second time."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    if type(value) in (list, tuple):
        return type(value)(_copied(item) for item in value)
    if type(value) is dict:
        return {key: _copied(item) for key, item in value.items()}
    return value


def _state(tensor: torch.Tensor) -> str:
    if not tensor.is_floating_point() or tensor.layout is not torch.strided or tensor.numel() == 0:
        return "finite"
    with torch._C.DisableTorchFunctionSubclass():
        total = float(tensor.detach().sum(dtype=torch.float64))
        if math.isfinite(total):
            return "finite"
        return "nan" if bool(tensor.isnan().any()) else "inf"


def _name(func: Any) -> str:
    name = getattr(func, "__name__", str(func))
    return {"__truediv__": "div", "__rtruediv__": "div", "__mul__": "mul", "__rmul__": "mul"}.get(name, name)
