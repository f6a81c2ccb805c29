"""Two sizes given to a constructor in the wrong order: what has failed is tried with the two exchanged."""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import linecache
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from torch import nn

from torch_debugger.anatomy.containers import call_name
from torch_debugger.anatomy.global_hooks import without_global_hooks
from torch_debugger.anatomy.rerun import leaving_no_trace
from torch_debugger.anatomy.sources import class_source, nodes_of, place_at, tree_of
from torch_debugger.clocks import time
from torch_debugger.probes.crash_frames import is_tensor
from torch_debugger.probes.crash_layer import find_layer
from torch_debugger.probes.examiners.constructor_calls import given_to, only_call, values_of, variables_at
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.probes.replays import copied
from torch_debugger.probes.shape_flow import is_wise, outermost_call, shapes_of
from torch_debugger.records.evidence.building import SwappedArguments
from torch_debugger.stats.unseen import no_grad

_MOST_TRIED = 24
_TIME_LIMIT_S = 5.0  # in which a trial may begin
_NARROW = ("latent", "bottleneck", "code", "z_dim")

Passes = Callable[[nn.Module], bool]


@dataclass(frozen=True)
class _Exchange:
    """One way to exchange two arguments of one call."""

    file: str
    call: ast.Call
    first: ast.expr
    second: ast.expr
    module: nn.Module  # that the call has made
    make: Callable[[], nn.Module]  # the same with these two exchanged
    path: str  # net.decoder
    names: int  # how many more arguments would bear the name of their parameter
    narrows: int = 0  # 1 if what is called latent becomes the smaller of the two, -1 if the larger
    instead: Callable[[], nn.Module] | None = None  # another change, which is as likely if it goes through


def examine_swaps(scene: Scene) -> SwappedArguments | None:
    """None unless one exchange makes the forward pass, or the loss fit, and no other is as likely."""
    found = _trial(scene)
    if found is None:
        return None
    root, passes = found
    passing = []
    with leaving_no_trace(root), without_global_hooks(), no_grad():
        deadline = time.monotonic() + _TIME_LIMIT_S
        for exchange in itertools.islice(_exchanges(scene, root), _MOST_TRIED):
            if time.monotonic() > deadline:
                return None  # one that was not tried may be as likely
            if _fits(root, exchange, exchange.make, passes):
                other = exchange.instead
                if other is None or not _fits(root, exchange, other, passes):
                    passing.append(exchange)
    best = max(((each.names, each.narrows) for each in passing), default=(0, 0))
    likely = [each for each in passing if (each.names, each.narrows) == best]
    return _told(likely[0]) if len(likely) == 1 and best >= (0, 0) else None


def _trial(scene: Scene) -> tuple[nn.Module, Passes] | None:
    """The model, and whether a variant of it gets further than the script did."""
    call = outermost_call(scene.frames)
    if call is not None:
        root, args, kwargs = call
        if not is_wise(scene.error, root, args, kwargs):
            return None
        return root, lambda model: model.forward(*copied(args), **copied(kwargs)) is not None
    models = [
        name for name in scene.running.calls if next(scene.running.models[name].parameters(), None) is not None
    ]
    seen = scene.innermost
    if len(models) != 1 or seen is None:
        return None
    root, (args, kwargs) = scene.running.models[models[0]], scene.running.calls[models[0]]
    if not is_wise(scene.error, root, args, kwargs):
        return None
    met = [tuple(value.shape) for value in seen.frame.f_locals.values() if is_tensor(value)]
    with leaving_no_trace(root), without_global_hooks(), no_grad():
        before = _made(root, args, kwargs)
    odd = [number for number, shape in enumerate(before) if shape in met]
    wanted = {shape for shape in met if odd and shape != before[odd[0]] and len(shape) == len(before[odd[0]])}
    if not odd or len(wanted) != 1:
        return None

    def fits(model: nn.Module) -> bool:
        made = _made(model, args, kwargs)
        return len(made) == len(before) and made[odd[0]] in wanted

    return root, fits


def _made(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    """The shapes of the results; none where the call that went well does not again."""
    try:
        return shapes_of(model.forward(*copied(args), **copied(kwargs)))
    except (Exception, SystemExit):  # of the user's own code
        return ()


def _fits(root: nn.Module, exchange: _Exchange, make: Callable[[], nn.Module], passes: Passes) -> bool:
    try:
        new = make()
        old = next(exchange.module.parameters(), None)
        if old is not None:
            new.to(old.device, old.dtype)
        new.train(exchange.module.training)
        with _in_place_of(root, exchange.module, new):
            return passes(new if exchange.module is root else root)
    except (Exception, SystemExit):  # the user's own code, run with sizes that it may not take
        return False


@contextlib.contextmanager
def _in_place_of(root: nn.Module, old: nn.Module, new: nn.Module) -> Iterator[None]:
    places = [
        (owner._modules, name)
        for owner in root.modules()
        for name, each in owner._modules.items()
        if each is old
    ]
    for held, name in places:
        held[name] = new
    try:
        yield
    finally:
        for held, name in places:
            held[name] = old


def _exchanges(scene: Scene, root: nn.Module) -> Iterator[_Exchange]:
    modules = [each for each in root.modules() if class_source(type(each)) is not None]
    for module in modules:
        if sum(type(each) is type(module) for each in modules) == 1:
            yield from _of_call(scene, module)
    yield from _of_layer(scene)


def _of_call(scene: Scene, module: nn.Module) -> Iterator[_Exchange]:
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
            yield _Exchange(
                *found, given[one], given[other], module, make, path, gained, _narrows(changed, one, other)
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


def _of_layer(scene: Scene) -> Iterator[_Exchange]:
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
    yield _Exchange(fact.place.file, calls[0], first, second, layer, turned, fact.path or "", 0, instead=other)


def _told(exchange: _Exchange) -> SwappedArguments:
    first, second = exchange.first, exchange.second
    place = place_at(exchange.file, first.lineno, exchange.path or None)
    texts = ast.unparse(first), ast.unparse(second)
    return SwappedArguments(call_name(exchange.call), *texts, place, _rewritten(exchange), exchange.names > 0)


def _rewritten(exchange: _Exchange) -> str:
    """The line with the two exchanged; empty where they stand on several."""
    first, second = sorted((exchange.first, exchange.second), key=lambda each: (each.lineno, each.col_offset))
    if first.lineno != second.end_lineno or first.end_col_offset is None or second.end_col_offset is None:
        return ""
    line = linecache.getline(exchange.file, first.lineno).encode()
    one, other = line[first.col_offset : first.end_col_offset], line[second.col_offset : second.end_col_offset]
    between = line[first.end_col_offset : second.col_offset]
    return (line[: first.col_offset] + other + between + one + line[second.end_col_offset :]).decode().strip()
