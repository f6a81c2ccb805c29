"""Which modules are meant: by their path, as `named_modules()` has it, by their class, or themselves."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from torch_debugger.system.errors import UsageError

Wanted = str | type[nn.Module] | nn.Module
Layers = Wanted | Iterable[Wanted]

_COMPILED = "_orig_mod"
_KINDS_NAMED = 8  # of a model, where none was found
_NAMES_OF_A_KIND = 3


class ChosenLayers(dict[str, nn.Module]):
    """Path to module; `absent` are the classes asked for beside others of which the model has no layer."""

    def __init__(self, found: dict[str, nn.Module], absent: tuple[str, ...] = ()) -> None:
        super().__init__(found)
        self.absent = absent


def inner_model(model: nn.Module) -> nn.Module:
    """The model inside torch.compile, DataParallel or DistributedDataParallel: its paths are the user's."""
    if not isinstance(model, nn.Module):
        raise UsageError(f"expected a model, an `nn.Module`, but got {type(model).__name__}.")
    while True:
        wrapped = getattr(model, _COMPILED, None)
        if wrapped is None and isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
            wrapped = model.module
        if wrapped is None:
            return model
        model = wrapped


def chosen_layers(model: nn.Module, layers: Layers) -> ChosenLayers:
    """Path to module; the path of the model itself is empty. A shared one has its first path that fits.

    A list of classes is a question about any model, so some of them may fit nothing; a path that fits
    nothing is a slip.
    """
    chosen: dict[str, nn.Module] = {}
    absent: list[type[nn.Module]] = []
    for wanted in [layers] if isinstance(layers, (str, type, nn.Module)) else layers:
        # `module.layer4` and `_orig_mod.layer4`, as a wrapped model's own named_modules() has it
        unwrapped = clean_path(wanted).removeprefix("module.") if isinstance(wanted, str) else wanted
        fitting = _found(model, wanted) or _found(model, unwrapped)
        if not fitting and not isinstance(wanted, type):
            raise UsageError(_nothing_fits(wanted, [clean_path(path) for path, _ in model.named_modules()]))
        absent += [wanted] if isinstance(wanted, type) and not fitting else []
        taken = {id(module) for module in chosen.values()}
        chosen |= {path: module for path, module in fitting.items() if id(module) not in taken}
    if absent and not chosen:
        names = " or ".join(f"`{kind.__name__}`" for kind in absent)
        raise UsageError(f"no layer of class {names} in this model. {_kinds_there(model)}")
    return ChosenLayers(chosen, tuple(kind.__name__ for kind in absent))


def one_layer(model: nn.Module, layer: str | nn.Module) -> tuple[str, nn.Module]:
    """The path and the module of a layer given by its path, or of a module that is part of the model."""
    chosen = chosen_layers(model, layer)
    if len(chosen) > 1:
        some = ", ".join(f"`{path}`" for path in list(chosen)[:3])
        raise UsageError(f"expected one layer, but `{layer}` fits {len(chosen)} of them: {some} ...")
    return next(iter(chosen.items()))


def every_path(
    model: nn.Module, path: str = "", above: frozenset[nn.Module] = frozenset()
) -> Iterator[tuple[str, nn.Module]]:
    """Each module by each of its paths; unlike torch's, it ends where a module contains itself."""
    yield path, model
    above |= {model}
    for name, child in model._modules.items():
        if child is not None and child not in above:
            yield from every_path(child, f"{path}.{name}" if path else name, above)


def clean_path(path: str) -> str:
    """Without what torch.compile puts between."""
    return ".".join(part for part in path.split(".") if part != _COMPILED)


def _found(model: nn.Module, wanted: Wanted) -> dict[str, nn.Module]:
    return _fitting(model.named_modules(), wanted) or _fitting(every_path(model), wanted)


def _fitting(named: Iterable[tuple[str, nn.Module]], wanted: Wanted) -> dict[str, nn.Module]:
    """Where a compiled layer and its wrapper share a path, the layer inside is meant."""
    if isinstance(wanted, nn.Module):
        return {clean_path(path): module for path, module in named if module is wanted}
    found = {clean_path(path): module for path, module in named}
    if isinstance(wanted, type):
        return {path: module for path, module in found.items() if isinstance(module, wanted)}
    return {path: module for path, module in found.items() if fnmatchcase(path, wanted)}


def _kinds_there(model: nn.Module) -> str:
    """It has Conv2d (`conv1`, `conv2`), ReLU (`act`)."""
    kinds: dict[str, list[str]] = {}
    for path, module in model.named_modules():
        if path and not any(True for _ in module.children()):
            kinds.setdefault(type(module).__name__, []).append(f"`{clean_path(path)}`")
    if not kinds:
        return "It holds no layers."
    named = [
        f"{kind} ({', '.join(paths[:_NAMES_OF_A_KIND])}{', ...' if len(paths) > _NAMES_OF_A_KIND else ''})"
        for kind, paths in list(kinds.items())[:_KINDS_NAMED]
    ]
    more = len(kinds) - _KINDS_NAMED
    return f"It has {', '.join(named)}{f' and {more} more kinds' if more > 0 else ''}."


def _nothing_fits(wanted: str | nn.Module, paths: list[str]) -> str:
    if isinstance(wanted, nn.Module):
        return f"the {type(wanted).__name__} given as layer is no part of this model."
    near = difflib.get_close_matches(wanted, paths, n=3, cutoff=0.4) or [path for path in paths if path][:3]
    hint = f" There is {', '.join(f'`{path}`' for path in near)}." if near else ""
    paths_are = "Patterns are paths as in named_modules(), such as `encoder.*`."
    return f"no layer `{wanted}` in this model.{hint} {paths_are}"


# Modules that do one thing in training and another in evaluation: dropout and batch norm.
@dataclass(frozen=True)
class TwoModes:
    dropouts: int
    norms: int

    def __bool__(self) -> bool:
        return bool(self.dropouts or self.norms)


def two_modes(module: nn.Module) -> TwoModes:
    parts = list(module.modules())
    return TwoModes(sum(map(_drops, parts)), sum(map(keeps_statistics, parts)))


def _drops(part: nn.Module) -> bool:
    if isinstance(part, _DropoutNd):
        return part.p > 0
    return isinstance(part, (nn.RNNBase, nn.MultiheadAttention)) and part.dropout > 0


def keeps_statistics(part: nn.Module) -> bool:
    return isinstance(part, _BatchNorm) and part.running_mean is not None


def is_untouched(module: nn.Module) -> bool:
    """Whether its batch norms are as they were made; a count on a device is not asked for."""
    counts = [part.num_batches_tracked for part in module.modules() if keeps_statistics(part)]
    return all(count is not None and count.device.type == "cpu" and int(count) == 0 for count in counts)


# The distributions that initializations draw from, and whether some weights still look like one of them.
#
# Training leaves a uniform distribution first at its ends, which are sharp, and a normal one by heavier tails; either
# way the spread no longer fits the formula. All bounds are five standard errors of the estimate.
@dataclass(frozen=True)
class Draw:
    text: str  # uniform(-0.177, 0.177)
    spread: float  # its standard deviation
    bound: float  # of a uniform one; infinite for a normal one

    @property
    def kurtosis(self) -> float:
        return 3.0 if math.isinf(self.bound) else 1.8

    def fits(self, count: int, mean: float, spread: float, kurtosis: float, largest: float) -> bool:
        """Of the numbers of so many values."""
        error = math.sqrt((self.kurtosis - 1.0) / (4.0 * count))
        if abs(spread / self.spread - 1.0) > 5.0 * error or abs(mean) > 5.0 * self.spread / math.sqrt(count):
            return False
        if math.isinf(self.bound):
            return abs(kurtosis - 3.0) <= 5.0 * math.sqrt(24.0 / count)
        return self.bound * (1.0 - 12.0 / count) <= largest <= self.bound * (1.0 + 1e-5)


def initial_draws(module: nn.Module, weight: nn.Parameter) -> tuple[Draw, ...]:
    """What a weight of this shape may have been drawn from, the layer's own default first."""
    shape = tuple(weight.shape)
    inside = math.prod(shape[2:])
    fan_in, fan_out = shape[1] * inside, shape[0] * inside
    bounds = [math.sqrt(of / fan) for of, fan in ((1, fan_in), (6, fan_in + fan_out), (6, fan_in))]
    spreads = [*(math.sqrt(2 / fan) for fan in (fan_in, fan_out, fan_in + fan_out)), 0.02, 0.01]
    table = [_normal(1.0)] if isinstance(module, nn.Embedding) else []
    return (*table, *map(_uniform, bounds), *map(_normal, spreads))


def _uniform(bound: float) -> Draw:
    return Draw(f"uniform(-{bound:.3g}, {bound:.3g})", bound / math.sqrt(3.0), bound)


def _normal(spread: float) -> Draw:
    return Draw(f"normal(0, {spread:.3g})", spread, math.inf)
