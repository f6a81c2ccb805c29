"""A step's forward run once more, op by op: which op made something not finite?

Runs where the step left off, on the same inputs, weights and random state, without gradients,
and leaves no trace: buffers and random state are put back and prints are swallowed. Ops are
seen as the user wrote them (torch.log, x / y, F.softmax), through a function mode.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from torch.overrides import TorchFunctionMode

from torch_debugger.anatomy.frames import frames
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
    arguments, keywords = call
    wrong = [value for value in _tensors((arguments, keywords)) if _state(value) != "finite"]
    if wrong:
        operand = describe_operand("input", wrong[0])
        return Origin("input", paths.get(id(module)), None, Place(), (operand,))
    mode = _Hunter(paths, slopes)
    with leaving_no_trace(module), torch.no_grad():
        if rng_state is not None:
            torch.set_rng_state(rng_state)
        with mode:
            module._call_impl(*arguments, **keywords)  # type: ignore[no-untyped-call]
    return mode.origin()


class _Hunter(TorchFunctionMode):
    def __init__(self, paths: dict[int, str], slopes: bool) -> None:
        super().__init__()
        self._paths = paths
        self._slopes = slopes
        self._nan: Origin | None = None
        self._inf: Origin | None = None
        self._steep: Origin | None = None
        self._sources: dict[int, Origin | None] = {}  # id of a tensor with Inf in it -> who made that
        self._kept: list[torch.Tensor] = []  # ids stay unique only while the tensors live

    def origin(self) -> Origin | None:
        return self._steep if self._slopes else self._nan or self._inf

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if self.origin() is None:
            self._judge(_name(func), (args, kwargs), result)
        return result

    def _judge(self, op: str, given: Any, result: Any) -> None:
        operands = list(_tensors(given))
        if self._slopes:
            if _is_steep(op, operands, given):
                self._steep = self._describe("backward", op, operands)
            return
        for made in _tensors(result):
            state = _state(made)
            if state != "finite":
                self._blame(op, operands, made, state)

    def _blame(self, op: str, operands: list[torch.Tensor], made: torch.Tensor, state: str) -> None:
        states = [_state(operand) for operand in operands]
        if state == "nan" and "nan" in states:
            return  # passed on
        infinite = [operand for operand, kind in zip(operands, states, strict=True) if kind == "inf"]
        inherited = next((self._sources.get(id(operand)) for operand in infinite), None)
        if state == "nan":
            self._nan = inherited or self._describe("forward", op, operands)
            return
        source = inherited if infinite or op in _MASKS else self._describe("forward", op, operands)
        self._sources[id(made)] = source
        self._kept.append(made)

    def _describe(self, phase: str, op: str, operands: list[torch.Tensor]) -> Origin:
        place, module = self._where()
        words = tuple(
            describe_operand(f"operand {index + 1}", value) for index, value in enumerate(operands[:3])
        )
        return Origin(phase, module, op, place, words)

    def _where(self) -> tuple[Place, str | None]:
        place, module = Place(), None
        for frame in frames(3):
            code = frame.f_code
            first = frame.f_locals.get(code.co_varnames[0]) if code.co_varnames else None
            if module is None and isinstance(first, nn.Module) and id(first) in self._paths:
                module = self._paths[id(first)]
            if not place and is_user_file(code.co_filename):
                place = place_at(code.co_filename, frame.f_lineno)
            if place and module:
                break
        return place, module


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors(item)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors(item)


def _state(tensor: torch.Tensor) -> str:
    if not tensor.is_floating_point() or tensor.layout is not torch.strided or tensor.numel() == 0:
        return "finite"
    with torch._C.DisableTorchFunctionSubclass():
        total = float(tensor.detach().sum(dtype=torch.float64))
        if math.isfinite(total):
            return "finite"
        return "nan" if bool(tensor.isnan().any()) else "inf"


def _is_steep(op: str, operands: list[torch.Tensor], given: Any) -> bool:
    """Derivatives that are infinite or undefined: sqrt and norm at 0, x**p (p < 1) at 0, acos at 1."""
    if not operands or not operands[0].is_floating_point():
        return False
    with torch._C.DisableTorchFunctionSubclass():
        value = operands[0].detach()
        if op in ("sqrt", "rsqrt", "log"):
            return bool((value == 0).any())
        if op in ("norm", "vector_norm", "cdist", "pairwise_distance", "dist"):
            return False  # torch gives norms a zero slope at zero
        if op in ("acos", "asin", "arccos", "arcsin"):
            return bool((value.abs() == 1).any())
        if op in ("pow", "__pow__"):
            exponent = given[0][1] if len(given[0]) > 1 else None
            return isinstance(exponent, float) and exponent < 1 and bool((value == 0).any())
        if op in ("std", "var") and value.numel():
            return bool((value == value.reshape(-1)[0]).all())
    return False


def _name(func: Any) -> str:
    name = getattr(func, "__name__", str(func))
    return {"__truediv__": "div", "__rtruediv__": "div", "__mul__": "mul", "__rmul__": "mul"}.get(name, name)
