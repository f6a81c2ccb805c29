"""Who made the NaN or Inf in a tensor: followed from op to op.

An Inf that was put somewhere on purpose, as masks are, is innocent until an op makes NaN of it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from torch_debugger.model.nested_tensors import tensors_in
from torch_debugger.records import Operand, Origin, Place
from torch_debugger.source.files import is_user_file, place_at
from torch_debugger.source.frames import frames, is_ours, locals_of
from torch_debugger.stats.summary import measure_operand

# These put Inf where the user asked for it.
_FILLING = frozenset({"masked_fill", "where", "full", "full_like", "new_full", "fill", "__setitem__", "tensor",
                      "new_tensor", "as_tensor", "clone", "triu", "tril", "zeros", "ones", "copy"})  # fmt: skip
_ROWS = 10


@dataclass(frozen=True)
class NanSource:
    origin: Origin
    innocent: bool = False
    mask: bool = False  # nothing but Inf and one other number


class Trail:
    def __init__(self, parameters: Mapping[int, str], inputs: Mapping[int, str]) -> None:
        self.parameters = parameters  # id -> net.fc.weight
        self.inputs = inputs  # id -> the name of what was given to the piece that runs again
        self._sources: dict[int, NanSource] = {}
        self._kept: list[torch.Tensor] = []  # ids stay unique only while the tensors live

    def of(self, tensor: torch.Tensor) -> NanSource | None:
        return self._sources.get(id(tensor))

    def clear(self, tensor: torch.Tensor) -> None:
        self._sources.pop(id(tensor), None)

    def follow(self, call: OperationCall, made: torch.Tensor, state: str) -> NanSource:
        """The source of what came out of a call and is not finite."""
        found = self._find(call, made, state)
        self._sources[id(made)] = found
        self._kept.append(made)
        return found

    def _find(self, call: OperationCall, made: torch.Tensor, state: str) -> NanSource:
        tainted = call.tainted()
        known = [self.of(tensor) or self._meet(tensor, kind, call) for tensor, kind in tainted]
        guilty = [source for source in known if not source.innocent]
        if guilty:
            return _passed_on(guilty[0], call, state)
        inputs = [source for source in known if source.origin.phase == "input" and not source.mask]
        if inputs and self._has_weights(call):  # data in a layer, not the logarithms of forbidden choices
            return _passed_on(NanSource(inputs[0].origin), call, state)
        if not tainted:
            # a call without operands (torch.full, torch.tensor) says itself what it fills in
            innocent = state == INF and (call.name in _FILLING or not call.given)
            return NanSource(self.made_by(call, made, state), innocent)
        if state == INF and (call.name in _FILLING or sign_of_inf(made) == sign_of_inf(tainted[0][0])):
            return known[0]
        return NanSource(self.made_by(call, made, state))

    def made_by(self, call: OperationCall, made: torch.Tensor, state: str) -> Origin:
        operands = call.describe(self.parameters)
        if made.is_floating_point():  # autocast computes in the dtype that comes out, whatever went in
            limit, dtype = torch.finfo(made.dtype).max, str(made.dtype).removeprefix("torch.")
            operands = tuple(
                dataclasses.replace(each, dtype=dtype, limit=limit) if each.limit > limit else each for each in operands
            )
        inner = call.op_inside()
        return Origin(
            phase="forward" if call.site.module else "loss",
            module=call.site.module,
            op=call.name,
            place=call.site.place,
            operands=operands,
            inner="" if inner == call.name else inner,
            arguments=call.describe_arguments(),
            made=word_for(made, state),
            masked_row=any(has_masked_row(tensor) for tensor in call.operands),
        )

    def _meet(self, tensor: torch.Tensor, state: str, call: OperationCall) -> NanSource:
        """Something from outside that is not finite."""
        name = self.parameters.get(id(tensor))
        operands = [each for each in call.describe(self.parameters) if each.nans or each.infs]
        input_name = self.inputs.get(id(tensor)) or (operands[0].name if operands else "")
        place, module = call.site.place, call.site.module
        word = word_for(tensor, state)
        if name is not None:
            owner = name.rpartition(".")[0] or None
            found = NanSource(Origin("weights", owner, None, place, tuple(operands), given=name, made=word))
        else:
            origin = Origin(
                "input", module, None, place, tuple(operands), given=input_name, rows=bad_rows(tensor), made=word
            )
            mask = state == INF and _is_mask(tensor)
            chosen = state == INF and sign_of_inf(tensor) == "-inf" and not self._has_weights(call)
            found = NanSource(origin, innocent=mask or chosen, mask=mask)
        self._sources[id(tensor)] = found
        self._kept.append(tensor)
        return found

    def _has_weights(self, call: OperationCall) -> bool:
        return any(id(each) in self.parameters for each in call.given)


def _passed_on(source: NanSource, call: OperationCall, state: str) -> NanSource:
    origin = source.origin
    if state != NAN or origin.made == "nan" or origin.into_nan:
        return source
    return NanSource(dataclasses.replace(origin, into_nan=call.name, into_nan_place=call.site.place))


def _is_mask(tensor: torch.Tensor) -> bool:
    """Nothing but Inf and one other number, as masks and first best values are."""
    with torch._C.DisableTorchFunction():
        finite = tensor.detach()[torch.isfinite(tensor.detach())]
        return finite.numel() == 0 or bool((finite == finite.reshape(-1)[0]).all())


def bad_rows(tensor: torch.Tensor) -> tuple[int, ...]:
    if tensor.dim() == 0:
        return ()
    with torch._C.DisableTorchFunction():
        wrong = ~torch.isfinite(tensor.detach()).reshape(tensor.shape[0], -1).all(dim=1)
        return tuple(wrong.nonzero().flatten()[:_ROWS].tolist())


_SPELLINGS = {
    "truediv": "div", "true_divide": "div", "divide": "div", "multiply": "mul", "subtract": "sub",
    "matmul": "matmul", "absolute": "abs", "arccos": "acos", "arcsin": "asin", "arctan2": "atan2",
    "rpow": "pow", "pow": "pow", "radd": "add", "rsub": "sub", "rmul": "mul", "rtruediv": "div", "rdiv": "div",
    "iadd": "add", "isub": "sub", "imul": "mul", "itruediv": "div", "ipow": "pow", "float_power": "pow",
}  # fmt: skip

_MOST = 4  # operands told


class OperationCall:
    """Some functions write over their operands: of those copies are kept."""

    def __init__(self, function: Any, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> None:
        self.function = function
        self.name, writes = _spelling(function, keywords)
        self.given = list(tensors_in((arguments, dict(keywords))))
        self.states = [state_of(tensor) for tensor in self.given]
        self.operands = [tensor.detach().clone() for tensor in self.given] if writes else self.given
        self.arguments, self.keywords = arguments, keywords
        self._writes = writes
        self.nodes = [tensor.grad_fn for tensor in self.given if tensor.grad_fn is not None]  # before it ran
        self._versions = [version_of(tensor) for tensor in self.given]
        self.site = OperationSite(Place(), None, None)
        self._names: dict[int, str] = {}

    def seen_from(self, site: OperationSite) -> None:
        found = names_in(site.frame)
        self._names = {
            id(operand): found[id(tensor)]
            for operand, tensor in zip(self.operands, self.given, strict=True)
            if id(tensor) in found
        }
        self.site = site._replace(frame=None)

    def tainted(self) -> list[tuple[torch.Tensor, str]]:
        """The operands that were not finite before, NaN first."""
        found = [(tensor, state) for tensor, state in zip(self.given, self.states, strict=True)]
        return sorted((each for each in found if each[1] != FINITE), key=lambda each: each[1] != "nan")

    def outputs(self, result: Any) -> list[torch.Tensor]:
        """What it returned, and what it wrote into."""
        made = list(tensors_in(result))
        seen = {id(tensor) for tensor in made}
        pairs = zip(self.given, self._versions, strict=True)
        return made + [each for each, version in pairs if version_of(each) != version and id(each) not in seen]

    def describe(self, parameters: Mapping[int, str]) -> tuple[Operand, ...]:
        return tuple(
            measure_operand(operand, self._names.get(id(operand), ""), parameters.get(id(given), ""))
            for operand, given in zip(self.operands[:_MOST], self.given, strict=False)
        )

    def describe_arguments(self) -> tuple[str, ...]:
        """The plain numbers and words among the arguments: 0.5, dim=1"""
        named = [("", value) for value in self.arguments]
        named += [(f"{name}=", value) for name, value in self.keywords.items()]
        words = [
            f"{name}{value:.6g}" if isinstance(value, float) else f"{name}{repr(value)[:40]}"
            for name, value in named
            if isinstance(value, _PLAIN)
        ]
        return tuple(words[:_MOST])

    def op_inside(self) -> str:
        """Of a function of torch's that is made of several ops, the one which made the bad value: it is called once
        more, on the same operands and without a graph. Empty where that cannot be, or where nothing is found."""
        name = str(getattr(self.function, "__name__", ""))
        # a derivative frees its graph
        if self._writes or name == "grad" or any(word in name for word in _DRAWING):
            return ""
        watching = _Inside()
        with torch.no_grad(), watching:
            self.function(*self.arguments, **self.keywords)
        return watching.found


def _spelling(function: Any, keywords: Mapping[str, Any]) -> tuple[str, bool]:
    """(div, whether it writes into its operands) of `__itruediv__`"""
    name = str(getattr(function, "__name__", function))
    if name.startswith("__") and name.endswith("__"):
        bare = name.strip("_")
        return _SPELLINGS.get(bare, bare if bare != "setitem" else name), name in WRITERS
    bare = name.rstrip("_")
    return _SPELLINGS.get(bare, bare), name.endswith("_") or keywords.get("out") is not None


WRITERS = frozenset(
    f"__{name}__" for name in ("iadd", "isub", "imul", "itruediv", "ipow", "setitem", "ifloordiv", "imod")
)


def version_of(tensor: torch.Tensor) -> int:
    try:
        return tensor._version
    except RuntimeError:  # made in inference mode
        return -1


_DRAWING = ("dropout", "rand", "bernoulli", "multinomial", "normal")


class _Inside(TorchDispatchMode):  # type: ignore[no-untyped-call]
    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.found = ""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        before = {state_of(tensor) for tensor in tensors_in((args, kwargs or {}))}
        result = func(*args, **(kwargs or {}))
        if not self.found:
            made = {state_of(tensor) for tensor in tensors_in(result)}
            if (NAN in made and NAN not in before) or (INF in made and before <= {FINITE}):
                self.found = func.overloadpacket.__name__.strip("_")
        return result


_PLAIN = (int, float, str)


class OperationSite(NamedTuple):
    place: Place
    module: str | None
    frame: FrameType | None  # of the user's line


def find_site(paths: Mapping[int, str], skip: int) -> OperationSite:
    """The innermost line of the user's code, and the innermost module known by a path."""
    place, module, found = Place(), None, None
    for frame in frames(skip + 1):
        code = frame.f_code
        if is_ours(frame) and not is_user_file(code.co_filename):
            if found is not None:
                break  # what is further out has called us, not the op
            continue
        if module is None and code.co_varnames:
            first = locals_of(frame).get(code.co_varnames[0])
            module = paths.get(id(first)) if isinstance(first, nn.Module) else None
        if found is None and is_user_file(code.co_filename):
            place, found = place_at(code.co_filename, frame.f_lineno), frame
        if found is not None and module is not None:
            break
    return OperationSite(place, module, found)


def names_in(frame: FrameType | None) -> dict[int, str]:
    """id of a tensor -> the variable that holds it: p, self.scale"""
    if frame is None:
        return {}
    found: dict[int, str] = {}
    for name, value in locals_of(frame).items():
        if isinstance(value, torch.Tensor):
            found.setdefault(id(value), name)
        elif isinstance(value, nn.Module):
            own: dict[str, Any] = {**vars(value), **value._parameters, **value._buffers}
            found = {id(each): f"{name}.{key}" for key, each in own.items() if isinstance(each, torch.Tensor)} | found
    return found


FINITE, INF, NAN = "finite", "inf", "nan"


def state_of(tensor: torch.Tensor) -> str:
    """finite | inf (and no NaN) | nan"""
    if not tensor.is_floating_point() and not tensor.is_complex():
        return FINITE
    if tensor.layout is not torch.strided or tensor.numel() == 0 or tensor.is_meta or tensor.is_quantized:
        return FINITE
    with torch._C.DisableTorchFunction():
        numbers = _real(tensor.detach())
        if math.isfinite(float(numbers.sum(dtype=torch.float64))):
            return FINITE
        if bool(numbers.isnan().any()):
            return NAN
        return INF if bool(numbers.isinf().any()) else FINITE


def sign_of_inf(tensor: torch.Tensor) -> str:
    """inf | -inf, of a tensor that holds some; inf where it holds both"""
    with torch._C.DisableTorchFunction():
        return "inf" if bool((_real(tensor.detach()) == math.inf).any()) else "-inf"


def word_for(tensor: torch.Tensor, state: str) -> str:
    return "nan" if state == NAN else sign_of_inf(tensor)


def has_masked_row(tensor: torch.Tensor) -> bool:
    """Whether some row (along the last dimension) is -inf as a whole."""
    if not tensor.is_floating_point() or tensor.dim() == 0 or tensor.numel() == 0:
        return False
    with torch._C.DisableTorchFunction():
        return bool((tensor.detach() == -math.inf).all(dim=-1).any())


def _real(tensor: torch.Tensor) -> Any:
    return torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor


def leaves_of(tensors: Iterable[Any]) -> tuple[list[torch.Tensor], bool]:
    """The variables that gradients are added to; and whether a part of the graph is hidden until backward."""
    roots = [tensor for tensor in tensors if isinstance(tensor, torch.Tensor)]
    waiting: list[Any] = [tensor.grad_fn for tensor in roots if tensor.grad_fn is not None]
    found = [tensor for tensor in roots if tensor.grad_fn is None and tensor.requires_grad]
    seen, hidden = set(waiting), False
    while waiting:
        node = waiting.pop()
        kind = type(node).__name__
        if kind == "AccumulateGrad":
            found.append(node.variable)
            continue
        hidden = hidden or kind == "CheckpointFunctionBackward"
        for following, _ in node.next_functions:
            if following is not None and following not in seen:
                seen.add(following)
                waiting.append(following)
    return found, hidden


def all_finite(tensors: Sequence[torch.Tensor]) -> bool:
    """One look for each device; a norm that overflows may say no where all are finite."""
    groups: dict[tuple[torch.device, torch.dtype], list[torch.Tensor]] = {}
    for tensor in tensors:
        if tensor.layout is torch.strided and (tensor.is_floating_point() or tensor.is_complex()):
            groups.setdefault((tensor.device, tensor.dtype), []).append(tensor)
    totals: dict[torch.device, torch.Tensor] = {}
    with torch.no_grad():
        for (device, _), group in groups.items():
            total = torch.stack(torch._foreach_norm(group)).sum(dtype=torch.float32)
            totals[device] = totals[device] + total if device in totals else total
        return all(math.isfinite(total.item()) for total in totals.values())


def bad_ones(tensors: Sequence[torch.Tensor]) -> list[tuple[torch.Tensor, str]]:
    """Exactly those that hold a NaN or Inf, and which of both."""
    states = [(tensor, state_of(tensor)) for tensor in tensors]
    return [(tensor, state) for tensor, state in states if state != FINITE]
