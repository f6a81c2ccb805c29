"""One call of a torch function, held while it runs: what went in, and who called it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from torch_debugger.anatomy.nested import tensors_in
from torch_debugger.records import Operand, Place
from torch_debugger.stats.operands import measure_operand
from torch_debugger.trials.hunt.arguments import describe_arguments
from torch_debugger.trials.hunt.inside import find_inside
from torch_debugger.trials.hunt.sites import Site, names_in
from torch_debugger.trials.hunt.states import FINITE, state_of

_SPELLINGS = {
    "truediv": "div", "true_divide": "div", "divide": "div", "multiply": "mul", "subtract": "sub",
    "matmul": "matmul", "absolute": "abs", "arccos": "acos", "arcsin": "asin", "arctan2": "atan2",
    "rpow": "pow", "pow": "pow", "radd": "add", "rsub": "sub", "rmul": "mul", "rtruediv": "div", "rdiv": "div",
    "iadd": "add", "isub": "sub", "imul": "mul", "itruediv": "div", "ipow": "pow", "float_power": "pow",
}  # fmt: skip

_MOST = 4  # operands told


class Call:
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
        self._versions = [_version(tensor) for tensor in self.given]
        self.site = Site(Place(), None, None)
        self._names: dict[int, str] = {}

    def seen_from(self, site: Site) -> None:
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
        return made + [each for each, version in pairs if _version(each) != version and id(each) not in seen]

    def describe(self, parameters: Mapping[int, str]) -> tuple[Operand, ...]:
        return tuple(
            measure_operand(operand, self._names.get(id(operand), ""), parameters.get(id(given), ""))
            for operand, given in zip(self.operands[:_MOST], self.given, strict=False)
        )

    def describe_arguments(self) -> tuple[str, ...]:
        return describe_arguments(self.arguments, self.keywords)

    def inside(self) -> str:
        """The op of torch's own inside it which made the bad value; empty where it cannot be run once more."""
        return "" if self._writes else find_inside(self.function, self.arguments, self.keywords)


def _spelling(function: Any, keywords: Mapping[str, Any]) -> tuple[str, bool]:
    """(div, whether it writes into its operands) of `__itruediv__`"""
    name = str(getattr(function, "__name__", function))
    if name.startswith("__") and name.endswith("__"):
        bare = name.strip("_")
        return _SPELLINGS.get(bare, bare if bare != "setitem" else name), name in _WRITERS
    bare = name.rstrip("_")
    return _SPELLINGS.get(bare, bare), name.endswith("_") or keywords.get("out") is not None


_WRITERS = frozenset(
    f"__{name}__" for name in ("iadd", "isub", "imul", "itruediv", "ipow", "setitem", "ifloordiv", "imod")
)


def _version(tensor: torch.Tensor) -> int:
    return -1 if tensor.is_inference() else tensor._version
