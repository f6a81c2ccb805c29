"""Which modules are meant: by their path, as `named_modules()` has it, or by their class."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from fnmatch import fnmatchcase

from torch import nn

from torch_debugger.errors import UsageError

Layers = str | type[nn.Module] | Iterable[str | type[nn.Module]]

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
    for wanted in [layers] if isinstance(layers, (str, type)) else layers:
        fitting = _fitting(model.named_modules(), wanted) or _fitting(
            model.named_modules(remove_duplicate=False), wanted
        )
        if not fitting:
            raise UsageError(_nothing_fits(wanted, [clean_path(path) for path, _ in model.named_modules()]))
        taken = {id(module) for module in chosen.values()}
        chosen |= {path: module for path, module in fitting.items() if id(module) not in taken}
    return chosen


def clean_path(path: str) -> str:
    """Without what torch.compile puts between."""
    return ".".join(part for part in path.split(".") if part != _COMPILED)


def _fitting(named: Iterable[tuple[str, nn.Module]], wanted: str | type[nn.Module]) -> dict[str, nn.Module]:
    """Where a compiled layer and its wrapper share a path, the layer inside is meant."""
    found = {clean_path(path): module for path, module in named}
    if isinstance(wanted, type):
        return {path: module for path, module in found.items() if isinstance(module, wanted)}
    return {path: module for path, module in found.items() if fnmatchcase(path, wanted)}


def _nothing_fits(wanted: str | type[nn.Module], paths: list[str]) -> str:
    name = f"`{wanted}`" if isinstance(wanted, str) else f"of class `{wanted.__name__}`"
    near = (
        difflib.get_close_matches(str(wanted), paths, n=3, cutoff=0.4) or [path for path in paths if path][:3]
    )
    hint = f" There is {', '.join(f'`{path}`' for path in near)}." if near else ""
    return (
        f"no layer {name} in this model.{hint} Patterns are paths as in named_modules(), such as `encoder.*`."
    )
