"""Two sizes given to a constructor in the wrong order: what has failed is tried with the two exchanged."""

from __future__ import annotations

import ast
import functools
import itertools
import linecache
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from torch import nn

from torch_debugger.anatomy.containers import call_name
from torch_debugger.anatomy.sources import class_source, nodes_of, place_at, tree_of
from torch_debugger.probes.crash_layer import find_layer
from torch_debugger.probes.examiners.constructor_calls import given_to, only_call, values_of, variables_at
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.examiners.variant_trials import Variant, trial_of, variants_that_pass
from torch_debugger.records.evidence.building import SwappedArguments

_MOST_TRIED = 24
_NARROW = ("latent", "bottleneck", "code", "z_dim")


@dataclass(frozen=True, kw_only=True)
class Exchange(Variant):
    """One way to exchange two arguments of one call."""

    file: str
    call: ast.Call
    first: ast.expr
    second: ast.expr
    path: str  # net.decoder
    names: int  # how many more arguments would bear the name of their parameter
    narrows: int = 0  # 1 if what is called latent becomes the smaller of the two, -1 if the larger


def examine_swaps(scene: Scene) -> SwappedArguments | None:
    """None unless one exchange makes the forward pass, or the loss fit, and no other is as likely."""
    found = trial_of(scene)
    if found is None:
        return None
    root, make_test = found
    exchanges = list(itertools.islice(_exchanges(scene, root), _MOST_TRIED))
    passing = variants_that_pass(root, exchanges, make_test) if exchanges else []
    best = max(((each.names, each.narrows) for each in passing), default=(0, 0))
    likely = [each for each in passing if (each.names, each.narrows) == best]
    return _told(likely[0]) if len(likely) == 1 and best >= (0, 0) else None


def _exchanges(scene: Scene, root: nn.Module) -> Iterator[Exchange]:
    modules = [each for each in root.modules() if class_source(type(each)) is not None]
    for module in modules:
        if sum(type(each) is type(module) for each in modules) == 1:
            yield from _of_call(scene, module)
    yield from _of_layer(scene)


def _of_call(scene: Scene, module: nn.Module) -> Iterator[Exchange]:
    """Each two sizes in the one call that makes a module of the user's class."""
    kind = type(module)
    found = only_call(scene, kind)
    variables = variables_at(scene, *found) if found is not None else None
    given = given_to(found[1], kind) if found is not None else None
    values = values_of(given, variables) if given is not None and variables is not None else None
    if found is None or given is None or values is None:
        return
    sizes = [name for name, value in values.items() if type(value) is int]
    for one, other in itertools.combinations(sizes, 2):
        if values[one] != values[other]:
            changed = values | {one: values[other], other: values[one]}
            make = functools.partial(kind, **changed)
            path = scene.paths.get(id(module), "")
            gained = _names({one: given[other], other: given[one]}) - _names(
                {one: given[one], other: given[other]}
            )
            yield Exchange(
                module,
                make,
                file=found[0],
                call=found[1],
                first=given[one],
                second=given[other],
                path=path,
                names=gained,
                narrows=_narrows(changed, one, other),
            )


def _narrows(values: Mapping[str, int], one: str, other: str) -> int:
    """A latent space is narrower than the layers around it; what else is there has no such order."""
    latent = [name for name in (one, other) if any(word in name.lower() for word in _NARROW)]
    if len(latent) != 1:
        return 0
    return 1 if values[latent[0]] == min(values[one], values[other]) else -1


def _names(given: Mapping[str, ast.expr]) -> int:
    """How many arguments are variables of the parameter's own name."""
    return sum(ast.unparse(node).rpartition(".")[2] == name for name, node in given.items())


def _of_layer(scene: Scene) -> Iterator[Exchange]:
    """The two sizes of the Linear layer that has failed."""
    fact = find_layer(scene.frames, scene.paths)
    layer = next((seen.module() for seen in reversed(scene.frames) if seen.module() is not None), None)
    if fact is None or type(layer) is not nn.Linear or not fact.place.file:
        return
    calls = [
        node
        for node in nodes_of(tree_of(fact.place.file) or ast.Module([], []))
        if isinstance(node, ast.Call) and call_name(node) == "Linear" and node.lineno == fact.place.line
    ]
    given = calls[0].args if len(calls) == 1 else []
    if len(given) < 2 or any(isinstance(each, ast.Starred) for each in given):
        return
    # Numbers that serve this layer alone: the first may as well be wrong by itself.
    alone = isinstance(given[0], ast.Constant) and isinstance(given[1], ast.Constant)
    make = functools.partial(nn.Linear, bias=layer.bias is not None)
    turned = functools.partial(make, layer.out_features, layer.in_features)
    other = functools.partial(make, layer.out_features, layer.out_features) if alone else None
    first, second = given[:2]
    yield Exchange(
        layer,
        turned,
        other,
        file=fact.place.file,
        call=calls[0],
        first=first,
        second=second,
        path=fact.path or "",
        names=0,
    )


def _told(exchange: Exchange) -> SwappedArguments:
    first, second = exchange.first, exchange.second
    place = place_at(exchange.file, first.lineno, exchange.path or None)
    texts = ast.unparse(first), ast.unparse(second)
    return SwappedArguments(call_name(exchange.call), *texts, place, _rewritten(exchange), exchange.names > 0)


def _rewritten(exchange: Exchange) -> str:
    """The line with the two exchanged; empty where they stand on several."""
    first, second = sorted((exchange.first, exchange.second), key=lambda each: (each.lineno, each.col_offset))
    if first.lineno != second.end_lineno or first.end_col_offset is None or second.end_col_offset is None:
        return ""
    line = linecache.getline(exchange.file, first.lineno).encode()
    one, other = line[first.col_offset : first.end_col_offset], line[second.col_offset : second.end_col_offset]
    between = line[first.end_col_offset : second.col_offset]
    return (line[: first.col_offset] + other + between + one + line[second.end_col_offset :]).decode().strip()
