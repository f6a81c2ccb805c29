"""Two sizes given to a constructor in the wrong order: what has failed is tried with the two exchanged."""

from __future__ import annotations

import ast
import contextlib
import functools
import itertools
import linecache
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeVar

import torch
from torch import nn
from torch.utils._pytree import tree_map_only

from torch_debugger.crashes.frames import LiveCrash, is_tensor
from torch_debugger.crashes.layers import find_layer
from torch_debugger.crashes.replay import copied, is_wise, outermost_call, shapes_of
from torch_debugger.model.forks import ForkedTask, can_be_refused
from torch_debugger.model.hooks import without_global_hooks
from torch_debugger.records import Place
from torch_debugger.records.crash_modules import LayerSetting, SwappedArguments
from torch_debugger.source.constructors import constructor_places
from torch_debugger.source.files import class_source, is_user_file, nodes_of, place_at, tree_of
from torch_debugger.source.statements import function_around
from torch_debugger.source.syntax import called_name, nodes_in
from torch_debugger.stats.dispatch_modes import no_grad
from torch_debugger.system.clocks import time

# Models with one module made anew, tried on what has failed, in a fork that is sealed.
_TIME_LIMIT_S = 8.0
_LONGEST_TRY_S = 1.0  # of computing

Passes = Callable[[nn.Module], bool]
MakeTest = Callable[[], Passes | None]


@dataclass(frozen=True)
class Variant:
    """A module of the model, made anew with other arguments."""

    module: nn.Module
    make: Callable[[], nn.Module]
    instead: Callable[[], nn.Module] | None = None  # another change, which is as likely if it goes through


AnyVariant = TypeVar("AnyVariant", bound=Variant)


def trial_of(crash: LiveCrash) -> tuple[nn.Module, MakeTest] | None:
    """The model, and what tells whether a variant of it gets further than the script did."""
    if not can_be_refused():
        return None
    call = outermost_call(crash.frames)
    if call is not None:
        root, args, kwargs = call
        if not is_wise(crash.error, root, args, kwargs):
            return None
        return root, lambda: lambda model: call_on_shapes(model, args, kwargs) is not None
    models = [name for name in crash.running.calls if next(crash.running.models[name].parameters(), None) is not None]
    if len(models) != 1:
        return None
    root, (args, kwargs) = crash.running.models[models[0]], crash.running.calls[models[0]]
    if not is_wise(crash.error, root, args, kwargs):
        return None
    # of the tensors in the innermost frame that has some
    tensors = ([value for value in seen.locals.values() if is_tensor(value)] for seen in reversed(crash.frames))
    met = [tuple(value.shape) for value in next(filter(None, tensors), [])]

    def make_test() -> Passes | None:
        before = _made(root, args, kwargs)
        matching = [number for number, shape in enumerate(before) if shape in met]
        wanted = {
            shape
            for shape in met
            if matching and shape != before[matching[0]] and len(shape) == len(before[matching[0]])
        }
        if not matching or len(wanted) != 1:
            return None

        def fits(model: nn.Module) -> bool:
            made = _made(model, args, kwargs)
            return len(made) == len(before) and made[matching[0]] in wanted

        return fits

    return root, make_test


def _made(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[int, ...], ...]:
    """The shapes of the results; none where the call that went well does not again."""
    try:
        return shapes_of(call_on_shapes(model, args, kwargs))
    except (Exception, SystemExit):  # of the user's own code
        return ()


def variants_that_pass(root: nn.Module, variants: list[AnyVariant], make_test: MakeTest) -> list[AnyVariant]:
    """Tried in a fork, for constructors of the user's run with sizes that were never meant for them."""

    def try_all() -> str:
        from torch_debugger.model.forks import seal

        if any(each.device.type != "cpu" for each in root.parameters()):
            root.to("meta")  # a fork has no accelerator, and shapes need none
        seal()
        with without_global_hooks(), no_grad():
            passes = make_test()
            numbers = [
                str(at) for at, each in enumerate(variants)
                if passes and _fits(root, each, each.make, passes)
                and (each.instead is None or not _fits(root, each, each.instead, passes))
            ]  # fmt: skip
        return ",".join(["", *numbers])

    text = ForkedTask(try_all, _TIME_LIMIT_S, urgent=True).wait().decode()
    return [variants[int(number)] for number in text.split(",")[1:]]


def call_on_shapes(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    weight = next(model.parameters(), None)
    if weight is not None and weight.is_meta:
        args, kwargs = tree_map_only(torch.Tensor, lambda each: each.to("meta"), (args, kwargs))
    return model.forward(*copied(args), **copied(kwargs))


def _fits(root: nn.Module, variant: Variant, make: Callable[[], nn.Module], passes: Passes) -> bool:
    try:
        with _limited():
            new = make()
            old = next(variant.module.parameters(), None)
            if old is not None:
                new.to(old.device, old.dtype)
            new.train(variant.module.training)
            with _in_place_of(root, variant.module, new):
                return passes(new if variant.module is root else root)
    except (Exception, SystemExit, _TooLongError):  # the user's own code, run with sizes that it may not take
        return False


class _TooLongError(BaseException):
    """A number of layers that was a number of words: no `except Exception` of the user's may catch it."""


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    """Of timers there are none behind a seal."""
    end = time.process_time() + _LONGEST_TRY_S

    def look(frame: FrameType, event: str, argument: object) -> None:
        if time.process_time() > end:
            raise _TooLongError

    sys.setprofile(look)
    try:
        yield
    finally:
        sys.setprofile(None)


@contextlib.contextmanager
def _in_place_of(root: nn.Module, old: nn.Module, new: nn.Module) -> Iterator[None]:
    places = [
        (owner._modules, name) for owner in root.modules() for name, each in owner._modules.items() if each is old
    ]
    for children, name in places:
        children[name] = new
    try:
        yield
    finally:
        for children, name in places:
            children[name] = old


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


def examine_swaps(crash: LiveCrash) -> SwappedArguments | None:
    """None unless one exchange makes the forward pass, or the loss fit, and no other is as likely."""
    found = trial_of(crash)
    if found is None:
        return None
    root, make_test = found
    exchanges = list(itertools.islice(_exchanges(crash, root), _MOST_TRIED))
    passing = variants_that_pass(root, exchanges, make_test) if exchanges else []
    best = max(((each.names, each.narrows) for each in passing), default=(0, 0))
    likely = [each for each in passing if (each.names, each.narrows) == best]
    return _swapped_arguments(likely[0]) if len(likely) == 1 and best >= (0, 0) else None


def _exchanges(crash: LiveCrash, root: nn.Module) -> Iterator[Exchange]:
    modules = [each for each in root.modules() if class_source(type(each)) is not None]
    for module in modules:
        if sum(type(each) is type(module) for each in modules) == 1:
            yield from _of_call(crash, module)
    yield from _of_layer(crash)


def _of_call(crash: LiveCrash, module: nn.Module) -> Iterator[Exchange]:
    """Each two sizes in the one call that makes a module of the user's class."""
    kind = type(module)
    found = only_call(crash, kind)
    variables = variables_at(crash, *found) if found is not None else None
    arguments = arguments_by_name(found[1], kind) if found is not None else None
    values = values_of(arguments, variables) if arguments is not None and variables is not None else None
    if found is None or arguments is None or values is None:
        return
    sizes = [name for name, value in values.items() if type(value) is int]
    for one, other in itertools.combinations(sizes, 2):
        if values[one] != values[other]:
            changed = values | {one: values[other], other: values[one]}
            make = functools.partial(kind, **changed)
            path = crash.paths.get(id(module), "")
            # how many arguments are variables of the parameter's own name
            written = {name: ast.unparse(arguments[name]).rpartition(".")[2] for name in (one, other)}
            gained = (written[other] == one) + (written[one] == other)
            gained -= (written[one] == one) + (written[other] == other)
            # a latent space is narrower than the layers around it; what else is there has no such order
            latent = [name for name in (one, other) if any(word in name.lower() for word in _NARROW)]
            narrows = 0
            if len(latent) == 1:
                narrows = 1 if changed[latent[0]] == min(changed[one], changed[other]) else -1
            yield Exchange(
                module,
                make,
                file=found[0],
                call=found[1],
                first=arguments[one],
                second=arguments[other],
                path=path,
                names=gained,
                narrows=narrows,
            )


def _of_layer(crash: LiveCrash) -> Iterator[Exchange]:
    """The two sizes of the Linear layer that has failed."""
    fact = find_layer(crash.frames, crash.paths)
    layer = next((seen.module() for seen in reversed(crash.frames) if seen.module() is not None), None)
    if fact is None or type(layer) is not nn.Linear or not fact.place.file:
        return
    calls = [
        node
        for node in nodes_in(fact.place.file, ast.Call)
        if called_name(node) == "Linear" and node.lineno == fact.place.line
    ]
    arguments = calls[0].args if len(calls) == 1 else []
    if len(arguments) < 2 or any(isinstance(each, ast.Starred) for each in arguments):
        return
    # Numbers that serve this layer alone: the first may as well be wrong by itself.
    alone = isinstance(arguments[0], ast.Constant) and isinstance(arguments[1], ast.Constant)
    make = functools.partial(nn.Linear, bias=layer.bias is not None)
    turned = functools.partial(make, layer.out_features, layer.in_features)
    other = functools.partial(make, layer.out_features, layer.out_features) if alone else None
    first, second = arguments[:2]
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


def _swapped_arguments(exchange: Exchange) -> SwappedArguments:
    first, second = exchange.first, exchange.second
    place = place_at(exchange.file, first.lineno, exchange.path or None)
    texts = ast.unparse(first), ast.unparse(second)
    rewritten = ""  # the line with the two exchanged; empty where they stand on several
    first, second = sorted((first, second), key=lambda each: (each.lineno, each.col_offset))
    if first.lineno == second.end_lineno:
        line = linecache.getline(exchange.file, first.lineno).encode()
        one, other = line[first.col_offset : first.end_col_offset], line[second.col_offset : second.end_col_offset]
        between = line[first.end_col_offset : second.col_offset]
        rewritten = (line[: first.col_offset] + other + between + one + line[second.end_col_offset :]).decode().strip()
    return SwappedArguments(called_name(exchange.call), *texts, place, rewritten, exchange.names > 0)


# A convolution that makes a picture of another size than is wanted: its padding is tried otherwise.
_TRANSPOSED = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)
_PLAIN = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
_KEPT = ("stride", "padding", "dilation", "groups", "padding_mode")


@dataclass(frozen=True, kw_only=True)
class _Setting(Variant):
    path: str
    name: str  # output_padding
    value: int


def examine_layer_settings(crash: LiveCrash) -> LayerSetting | None:
    """None unless one setting of one layer makes the model's result fit what it is compared with. Inside the
    model nothing is tried: sizes that meet there may differ for some inputs alone."""
    if outermost_call(crash.frames) is not None:
        return None
    found = trial_of(crash)
    if found is None:
        return None
    root, make_test = found
    known = {id(model): name for name, model in crash.running.models.items()} | dict(crash.paths)
    name = known.get(id(root), type(root).__name__)
    files = crash.user_files
    places = constructor_places(root, name, files)
    settings = list(itertools.islice(_settings(root, name), _MOST_TRIED))
    passing = variants_that_pass(root, settings, make_test) if settings else []
    for kind in ("output_padding", "padding"):
        likely = [each for each in passing if each.name == kind]
        if likely:
            return _layer_setting(likely[0], places) if len(likely) == 1 else None
    return None


def _settings(root: nn.Module, name: str) -> Iterator[_Setting]:
    for inner, layer in root.named_modules():
        for setting, value in _other_settings(layer):
            make = functools.partial(_made_anew, layer, **{setting: value})
            yield _Setting(layer, make, path=f"{name}.{inner}" if inner else name, name=setting, value=value)


def _other_settings(layer: Any) -> Iterator[tuple[str, int]]:
    if type(layer) not in (*_TRANSPOSED, *_PLAIN):
        return
    sizes = [getattr(layer, name) for name in ("kernel_size", "stride", "padding", "dilation")]
    if any(not isinstance(size, tuple) or len(set(size)) != 1 for size in sizes):
        return  # `padding="same"`, or another one for each side
    kernel, stride, padding, dilation = (size[0] for size in sizes)
    if type(layer) in _TRANSPOSED:
        if stride > 1 and not any(layer.output_padding):
            yield "output_padding", stride - 1
        yield "padding", padding + 1
        if padding:
            yield "padding", padding - 1
    elif kernel % 2 and padding != dilation * (kernel - 1) // 2:
        yield "padding", dilation * (kernel - 1) // 2


def _made_anew(layer: Any, **changed: int) -> nn.Module:
    names = (*_KEPT, "output_padding") if type(layer) in _TRANSPOSED else _KEPT
    kept = {name: getattr(layer, name) for name in names}
    settings = kept | {"bias": layer.bias is not None} | changed
    made: nn.Module = type(layer)(layer.in_channels, layer.out_channels, layer.kernel_size, **settings)
    return made


def _layer_setting(setting: _Setting, places: dict[str, Place]) -> LayerSetting | None:
    place = places.get(setting.path)
    if place is None or place.file is None or place.line is None:
        return None
    calls = [
        node
        for node in nodes_of(tree_of(place.file) or ast.Module([], []))
        if isinstance(node, ast.Call)
        and node.lineno == place.line
        and called_name(node) == type(setting.module).__name__
    ]
    line, after = linecache.getline(place.file, place.line), ""
    alone = Counter((each.file, each.line) for each in places.values())[place.file, place.line] == 1
    # where the call has several lines, or gives the setting by its place, its line is not written anew
    in_one_line = len(calls) == 1 and calls[0].end_lineno == place.line and line.isascii() and len(calls[0].args) <= 3
    if alone and in_one_line:
        text = f"{setting.name}={setting.value}"
        written = next((word for word in calls[0].keywords if word.arg == setting.name), None)
        if written is not None:
            after = (line[: written.col_offset] + text + line[written.end_col_offset :]).strip()
        else:
            end = (calls[0].end_col_offset or 0) - 1
            after = (line[:end].rstrip().rstrip(",") + f", {text}" + line[end:]).strip()
    return LayerSetting(setting.path, setting.name, setting.value, place, after)


# The one call that makes a module of the user's class, and what its arguments meant there.
_CONSTRUCTOR_CALLS_PLAIN = (
    ast.Expression, ast.Name, ast.Attribute, ast.Constant, ast.BinOp, ast.UnaryOp, ast.operator, ast.unaryop,
    ast.Load, ast.Tuple, ast.List, ast.Subscript,
)  # fmt: skip


def arguments_by_name(call: ast.Call, kind: type) -> dict[str, ast.expr] | None:
    code = getattr(vars(kind).get("__init__"), "__code__", None)
    if code is None or any(isinstance(each, ast.Starred) for each in call.args):
        return None
    names = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
    if len(call.args) > len(names) or any(word.arg not in names for word in call.keywords):
        return None
    arguments = dict(zip(names, call.args, strict=False))
    return arguments | {word.arg: word.value for word in call.keywords if word.arg is not None}


def only_call(crash: LiveCrash, kind: type) -> tuple[str, ast.Call] | None:
    source = class_source(kind)
    files = {seen.file for seen in crash.frames if seen.user} | ({source[0]} if source else set())
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    files |= {main} if isinstance(main, str) and is_user_file(main) else set()
    found = [
        (file, node)
        for file in sorted(files)
        for node in nodes_in(file, ast.Call)
        if called_name(node) == kind.__name__
    ]
    return found[0] if len(found) == 1 else None


def variables_at(crash: LiveCrash, file: str, call: ast.Call, depth: int = 4) -> dict[str, Any] | None:
    """What the names in this call meant: of a frame that still stands, of the file, or of a constructor."""
    tree = tree_of(file)
    scope = function_around(tree, call.lineno) if tree is not None else None
    frames = [seen.frame for seen in crash.frames if seen.file == file]
    modules = (each for each in list(sys.modules.values()) if getattr(each, "__file__", None) == file)
    known = dict(frames[0].f_globals if frames else vars(next(modules, object)))
    if scope is tree:
        return known
    name = getattr(scope, "name", "")
    running = [frame for frame in frames if frame.f_code.co_name == name]
    if running:
        return known | dict(running[-1].f_locals)
    owner = next((each for each in nodes_of(tree) if isinstance(each, ast.ClassDef) and scope in each.body), None)
    kind = known.get(owner.name) if owner is not None and tree is not None and name == "__init__" else None
    made = only_call(crash, kind) if isinstance(kind, type) and depth else None
    outside = variables_at(crash, *made, depth - 1) if made is not None else None
    arguments = arguments_by_name(made[1], kind) if made is not None and isinstance(kind, type) else None
    values = values_of(arguments, outside) if arguments is not None and outside is not None else None
    return known | values if values is not None else None


def values_of(arguments: Mapping[str, ast.expr], variables: Mapping[str, Any]) -> dict[str, Any] | None:
    """None where one of them cannot be told: a variable of a comprehension, the result of a call."""
    try:
        return {name: _value(node, variables) for name, node in arguments.items()}
    except (LookupError, NameError, AttributeError, TypeError, ArithmeticError):
        return None


def _value(node: ast.expr, variables: Mapping[str, Any]) -> Any:
    """Of names, attributes, numbers and sums of them; nothing of the user's is called."""
    if not all(isinstance(part, _CONSTRUCTOR_CALLS_PLAIN) for part in ast.walk(node)):
        raise LookupError(ast.unparse(node))
    return eval(compile(ast.Expression(node), "<argument>", "eval"), {"__builtins__": {}}, dict(variables))
