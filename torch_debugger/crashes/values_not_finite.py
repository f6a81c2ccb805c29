"""Crashes that a NaN or Inf has caused: its origin is looked for before the crash is told.

Autograd's anomaly mode ends the script in the backward, before any gradient is there to be looked at; a check
of the user's own (`assert not torch.isnan(loss)`) before the backward. Either way the step's frames, weights
and batch are still those that made the number, so the step is run again as it is for a NaN that nobody stopped.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Sequence
from typing import Any

import torch
from torch import isfinite

from torch_debugger.crashes.expressions import condition_at
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, is_tensor, walk_traceback
from torch_debugger.model.autograd_graph import walk_nodes
from torch_debugger.probes.nonfinite import FRAMES, NonFiniteHunt
from torch_debugger.records import NonFinite, Operand, Origin, Place
from torch_debugger.records.crash import NumberEvidence
from torch_debugger.source.files import is_user_file, place_at
from torch_debugger.source.variables import VariablesAt
from torch_debugger.stats.summary import measure_operand

ANOMALY = re.compile(r"^Function '(?P<node>\w+)' returned nan values in its (?P<output>\d+)th output")
# What takes only real numbers, and says so.
_REFUSALS = re.compile(r"to satisfy the constraint|probability tensor contains either|cannot convert float (?:NaN|inf)")
_NODES = 4096
_LARGEST = 10_000_000  # elements
_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+)')


def look_for_the_origin(search: NonFiniteHunt, error: BaseException) -> None:
    """Tells of the NaN behind an exception that ends the script, where there is one."""
    if search.found is not None and not search.found.scaled:
        return  # told when it came
    own = [seen for seen in walk_traceback(error.__traceback__) if seen.user][::-1]
    if not own:
        return
    moments = [
        VariablesAt(seen.file, seen.line, seen.function, dict(seen.locals), seen.frame.f_globals)
        for seen in own[:FRAMES]
    ]
    raised = getattr(error, "fact", None)  # of our own AnomalyError
    stopped = ANOMALY.match(str(error)) if isinstance(error, RuntimeError) else None
    if isinstance(raised, NonFinite):
        search.was_raised(raised, moments)
    elif stopped is not None:
        search.anomaly_mode_stopped(moments, own[0].place, _as_torch_says(stopped["node"], own))
    elif word := _refused(error, own[0]):
        search.was_refused(word, moments, own[0].place)


def _refused(error: BaseException, seen: LiveFrame) -> str:
    """nan, inf or -inf, where the line that raised depends on such a number."""
    if _REFUSALS.search(str(error)):
        values: list[Any] = list(seen.locals.values())
    else:
        condition = condition_at(seen)
        values = [value for _, value in condition.values] if condition is not None else []
    return next(filter(None, map(_word, values)), "")


def _word(value: Any) -> str:
    if is_tensor(value):
        if not _is_bad(value):
            return ""
        with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
            return "nan" if bool(torch.isnan(value).any()) else "inf"
    if type(value) is not float or math.isfinite(value):
        return ""
    return "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"


def _as_torch_says(name: str, own: Sequence[LiveFrame]) -> Origin:
    """The node that anomaly mode named, and, where it was on in the forward, the line that made the node."""
    places: set[Place] = set()
    for value in (value for seen in own[:FRAMES] for value in list(seen.locals.values())):
        made = walk_nodes(value.grad_fn, _NODES)[0] if is_tensor(value) and value.grad_fn is not None else []
        for node in (node for node in made if node.name() == name):
            # anomaly mode keeps with each node the stack that made it
            lines = "".join(node.metadata.get("traceback_", ()))
            stack = [match for match in _FRAME.finditer(lines) if is_user_file(match["file"])]
            places |= {place_at(match["file"], int(match["line"])) for match in stack[-1:]}
    op = re.sub(r"Backward\d*$", "", name)
    place = places.pop() if len(places) == 1 else Place()
    return Origin("backward", None, op.lower() if op != name else op, place, made="nan")


# Was something refused because it holds NaN or Inf?
#
# A message selects the crash; tensors in the frames that really hold such numbers make the evidence.
_MOST_OPERANDS = 3
_CONSTRAINT = re.compile(r"of distribution (\w+)")
_LINALG = re.compile(r"(?:torch\.)?(linalg[._]\w+)")


def examine_numbers(crash: LiveCrash) -> NumberEvidence | None:
    taker = _taker(crash)
    if not taker:
        return None
    tensors, weights = _not_finite(crash), _bad_weights(crash)
    named = tuple(tensor for tensor in tensors if tensor.name) or tensors
    return NumberEvidence(taker, named, weights, bool(crash.running.models)) if named or weights else None


def _taker(crash: LiveCrash) -> str:
    error, message = crash.error, str(crash.error)
    if isinstance(error, ValueError) and "to satisfy the constraint" in message:
        found = _CONSTRAINT.search(message)
        return found.group(1) if found else "a distribution"
    if isinstance(error, RuntimeError) and "probability tensor contains either" in message:
        return "torch.multinomial"
    if isinstance(error, RuntimeError) and type(error).__name__ == "_LinAlgError":
        found = _LINALG.search(message)
        return f"torch.{found.group(1).replace('_', '.', 1)}" if found else "torch.linalg"
    if isinstance(error, (ValueError, OverflowError)) and message.startswith("cannot convert float "):
        return "an integer"
    return ""


def _not_finite(crash: LiveCrash) -> tuple[Operand, ...]:
    """From the innermost frame out to the user's, the user's names first."""
    found: dict[int, tuple[torch.Tensor, str]] = {}
    inner = itertools.takewhile(lambda seen: not seen.user, reversed(crash.frames))
    for seen in [crash.user_frame, *reversed(list(inner))] if crash.user_frame is not None else []:
        for name, value in seen.locals.items():
            if is_tensor(value) and id(value) not in found and _is_bad(value):
                found[id(value)] = (value, name if seen.user else "")
    return tuple(measure_operand(tensor, name) for tensor, name in list(found.values())[:_MOST_OPERANDS])


def _is_bad(tensor: torch.Tensor) -> bool:
    plain = tensor.device.type == "cpu" and tensor.layout is torch.strided and tensor.is_floating_point()
    if not plain or not 0 < tensor.numel() <= _LARGEST:
        return False
    with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
        return not bool(isfinite(tensor.detach()).all())


def _bad_weights(crash: LiveCrash) -> tuple[str, ...]:
    return tuple(
        f"{name}.{path}"
        for name, model in crash.running.models.items()
        for path, parameter in model.named_parameters()
        if not torch.nn.parameter.is_lazy(parameter) and _is_bad(parameter)
    )[:_MOST_OPERANDS]
