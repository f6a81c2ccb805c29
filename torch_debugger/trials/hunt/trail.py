"""Who made the NaN or Inf in a tensor: followed from op to op.

An Inf that was put somewhere on purpose, as masks are, is innocent until an op makes NaN of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from torch_debugger.records import Operand, Origin
from torch_debugger.trials.hunt.calls import Call
from torch_debugger.trials.hunt.states import INF, NAN, has_masked_row, sign_of_inf, word_for

# These put Inf where the user asked for it.
_FILLING = frozenset({"masked_fill", "where", "full", "full_like", "new_full", "fill", "__setitem__", "tensor",
                      "new_tensor", "as_tensor", "clone", "triu", "tril", "zeros", "ones", "copy"})  # fmt: skip
_ROWS = 10


@dataclass(frozen=True)
class Source:
    origin: Origin
    innocent: bool = False
    mask: bool = False  # nothing but Inf and one other number


class Trail:
    def __init__(self, parameters: Mapping[int, str], inputs: Mapping[int, str]) -> None:
        self.parameters = parameters  # id -> net.fc.weight
        self.inputs = inputs  # id -> the name of what was given to the piece that runs again
        self._sources: dict[int, Source] = {}
        self._kept: list[torch.Tensor] = []  # ids stay unique only while the tensors live

    def of(self, tensor: torch.Tensor) -> Source | None:
        return self._sources.get(id(tensor))

    def clear(self, tensor: torch.Tensor) -> None:
        self._sources.pop(id(tensor), None)

    def follow(self, call: Call, made: torch.Tensor, state: str) -> Source:
        """The source of what came out of a call and is not finite."""
        found = self._find(call, made, state)
        self._sources[id(made)] = found
        self._kept.append(made)
        return found

    def _find(self, call: Call, made: torch.Tensor, state: str) -> Source:
        tainted = call.tainted()
        known = [self.of(tensor) or self._meet(tensor, kind, call) for tensor, kind in tainted]
        guilty = [source for source in known if not source.innocent]
        if guilty:
            return _passed_on(guilty[0], call, state)
        given = [source for source in known if source.origin.phase == "input" and not source.mask]
        if given and self._has_weights(call):  # data in a layer, not the logarithms of forbidden choices
            return _passed_on(Source(given[0].origin), call, state)
        if not tainted:
            # a call without operands (torch.full, torch.tensor) says itself what it fills in
            innocent = state == INF and (call.name in _FILLING or not call.given)
            return Source(self.made_by(call, made, state), innocent)
        if state == INF and (call.name in _FILLING or sign_of_inf(made) == sign_of_inf(tainted[0][0])):
            return known[0]
        return Source(self.made_by(call, made, state))

    def made_by(self, call: Call, made: torch.Tensor, state: str) -> Origin:
        operands = call.describe(self.parameters)
        if made.is_floating_point():
            operands = tuple(_narrowed(operand, made.dtype) for operand in operands)
        inner = call.inside()
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

    def _meet(self, tensor: torch.Tensor, state: str, call: Call) -> Source:
        """Something from outside that is not finite."""
        name = self.parameters.get(id(tensor))
        operands = [each for each in call.describe(self.parameters) if each.nans or each.infs]
        given = self.inputs.get(id(tensor)) or (operands[0].name if operands else "")
        place, module = call.site.place, call.site.module
        word = word_for(tensor, state)
        if name is not None:
            owner = name.rpartition(".")[0] or None
            found = Source(Origin("weights", owner, None, place, tuple(operands), given=name, made=word))
        else:
            origin = Origin(
                "input", module, None, place, tuple(operands), given=given, rows=bad_rows(tensor), made=word
            )
            mask = state == INF and _is_mask(tensor)
            chosen = state == INF and sign_of_inf(tensor) == "-inf" and not self._has_weights(call)
            found = Source(origin, innocent=mask or chosen, mask=mask)
        self._sources[id(tensor)] = found
        self._kept.append(tensor)
        return found

    def _has_weights(self, call: Call) -> bool:
        return any(id(each) in self.parameters for each in call.given)


def _passed_on(source: Source, call: Call, state: str) -> Source:
    origin = source.origin
    if state != NAN or origin.made == "nan" or origin.into_nan:
        return source
    return Source(dataclasses.replace(origin, into_nan=call.name, into_nan_place=call.site.place))


def _narrowed(operand: Operand, dtype: torch.dtype) -> Operand:
    """autocast computes in the dtype that comes out, whatever went in."""
    limit = torch.finfo(dtype).max
    if operand.limit <= limit:
        return operand
    return dataclasses.replace(operand, dtype=str(dtype).removeprefix("torch."), limit=limit)


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
