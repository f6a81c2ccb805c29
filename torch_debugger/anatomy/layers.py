"""Which modules are meant: by their path, as `named_modules()` has it, by their class, or themselves."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from torch import nn

from torch_debugger.errors import UsageError

Wanted = str | type[nn.Module] | nn.Module
Layers = Wanted | Iterable[Wanted]

_COMPILED = "_orig_mod"


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


def chosen_layers(model: nn.Module, layers: Layers) -> dict[str, nn.Module]:
    """Path to module; the path of the model itself is empty. A shared one has its first path that fits."""
    chosen: dict[str, nn.Module] = {}
    for wanted in [layers] if isinstance(layers, (str, type, nn.Module)) else layers:
        fitting = _found(model, wanted) or _found(model, _without_wrapper(wanted))
        if not fitting:
            raise UsageError(_nothing_fits(wanted, [clean_path(path) for path, _ in model.named_modules()]))
        taken = {id(module) for module in chosen.values()}
        chosen |= {path: module for path, module in fitting.items() if id(module) not in taken}
    return chosen


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


def _without_wrapper(wanted: Wanted) -> Wanted:
    """`module.layer4` and `_orig_mod.layer4`, as a wrapped model's own named_modules() has it"""
    return clean_path(wanted).removeprefix("module.") if isinstance(wanted, str) else wanted


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


def _nothing_fits(wanted: Wanted, paths: list[str]) -> str:
    if isinstance(wanted, nn.Module):
        return f"the {type(wanted).__name__} given as layer is no part of this model."
    name = f"`{wanted}`" if isinstance(wanted, str) else f"of class `{wanted.__name__}`"
    near = (
        difflib.get_close_matches(str(wanted), paths, n=3, cutoff=0.4) or [path for path in paths if path][:3]
    )
    hint = f" There is {', '.join(f'`{path}`' for path in near)}." if near else ""
    return (
        f"no layer {name} in this model.{hint} Patterns are paths as in named_modules(), such as `encoder.*`."
    )
