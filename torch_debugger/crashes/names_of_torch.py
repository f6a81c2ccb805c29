"""An attribute that torch's modules and objects, or a module of the user's, do not have."""

from __future__ import annotations

import ast
import difflib
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from types import ModuleType
from typing import Any

import torch
from torch import nn

from torch_debugger.crashes.expressions import parsed
from torch_debugger.crashes.frames import LiveCrash, LiveFrame, is_tensor
from torch_debugger.records import Place
from torch_debugger.records.crash import NameEvidence
from torch_debugger.source.files import class_source, covers, is_user_file, place_at
from torch_debugger.source.objects import is_a, is_one_of, module_of_class, own_attributes

_WRAPPERS = ("module", "_orig_mod")


def examine_attribute(crash: LiveCrash) -> NameEvidence | None:
    requested, owner = getattr(crash.error, "name", None), getattr(crash.error, "obj", None)
    if type(requested) is not str or owner is None or not requested_by_the_user(crash):
        return None
    if is_a(owner, ModuleType):
        name = owner.__name__
        names = dir(owner) if is_torchs(name) else [requested]  # of others it may run code of theirs
        if requested in names:
            return None
        return NameEvidence(
            requested, "attribute", name, "module", (name,), nearest(requested, names), elsewhere(requested, name)
        )
    if is_a(owner, nn.Module):
        return _of_layer(crash, requested, owner)
    if is_a(owner, type):
        if not is_torchs(module_of_class(owner)) or requested in dir(owner):
            return None
        name, near = public_name(owner), nearest(requested, dir(owner))
        return NameEvidence(requested, "attribute", name, "class", lineage(owner), near, elsewhere(requested, name))
    if not is_one_of(owner, (list, dict)):
        return _of_object(requested, owner)
    # a plain list, but one that torch.cuda.memory_snapshot made, as its entries tell
    segments = owner.get("segments") if is_a(owner, dict) else owner
    first = segments[0] if is_a(segments, list) and segments else None
    if type(first) is not dict or not {"segment_type", "blocks", "total_size"} <= set(first):
        return None
    name = "torch.cuda.memory_snapshot()"
    return NameEvidence(requested, "attribute", name, "object", (name,))


def requested_by_the_user(crash: LiveCrash) -> bool:
    """Whether the user's own line asked, and not something deeper inside torch."""
    frames = [seen for seen in crash.frames if seen.function != "__getattr__" or seen.user]
    return bool(frames) and frames[-1].user and len(crash.frames) - len(frames) <= 1


def _of_object(requested: str, owner: Any) -> NameEvidence | None:
    kind = type(owner)
    torchs = [cls for cls in kind.__mro__ if is_torchs(cls.__module__)]
    names = {*dir(kind), *own_attributes(owner)}
    if not torchs or requested in names:
        return None
    form = "tensor" if is_tensor(owner) else "object"
    # of a class of the user's own only what it has from torch can be told
    near = nearest(requested, sorted(names))
    if not is_torchs(kind.__module__) and not near:
        return None
    return NameEvidence(requested, "attribute", public_name(torchs[0]), form, lineage(kind), near)


def _of_layer(crash: LiveCrash, requested: str, owner: nn.Module) -> NameEvidence | None:
    attributes = vars(owner)
    if "_modules" not in attributes or requested in dir(type(owner)):
        return None  # super().__init__() did not run, or a property of that name raised
    parts = [attributes["_modules"], attributes.get("_parameters", {}), attributes.get("_buffers", {})]
    own = [name for part in (*parts, attributes) for name in part]
    if requested in own:
        return None
    place, form = _set_elsewhere(crash, requested, type(owner))
    children = attributes["_modules"]  # of a wrapper: the name under which it keeps the model that has the attribute
    inner = [name for name in _WRAPPERS if len(children) == 1 and name in children and requested in dir(children[name])]
    return NameEvidence(
        asked=requested,
        form="attribute",
        owner=crash.paths.get(id(owner)) or public_name(type(owner)),
        kind="layer",
        lineage=lineage(type(owner)),
        near=nearest(requested, own) or nearest(requested, dir(type(owner))),
        inner=inner[0] if inner else "",
        place=place,
        place_form=form,
    )


def _set_elsewhere(crash: LiveCrash, requested: str, kind: type) -> tuple[Place, str]:
    """Where the user's class would set it: as a local variable, after the use, or in another method."""
    seen = next((item for item in reversed(crash.frames) if item.user), None)
    for cls in kind.__mro__:
        source = class_source(cls)
        if source is None or seen is None or not is_user_file(source[0]):
            continue
        for method in (node for node in source[1].body if isinstance(node, ast.FunctionDef)):
            own = f"{method.args.args[0].arg if method.args.args else 'self'}.{requested}"
            running = seen.file == source[0] and covers(method, seen.line)
            for node in (part for part in ast.walk(method) if isinstance(part, ast.Assign)):
                targets = [ast.unparse(target) for target in node.targets]
                form = ""
                if method.name == "__init__" and requested in targets:
                    form = "local"
                elif own in targets and method.name == "__init__":
                    form = "later" if running and node.lineno > seen.line else ""
                elif own in targets:
                    form = "" if running else f"method {method.name}"
                if form:
                    return place_at(source[0], node.lineno), form
    return Place(), ""


# Calls of torch's functions and classes with a keyword they do not take, or of what cannot be called.
_MISSING = object()
_UNCALLABLE = re.compile(r"'[\w.]+' object is not (callable|subscriptable)$")


def examine_call(crash: LiveCrash) -> NameEvidence | None:
    seen, text = crash.user_frame, str(crash.error)
    if seen is None:
        return None
    if _UNCALLABLE.search(text) and crash.innermost is seen:
        return _wrong_use(seen, "callable" in text)
    if "unexpected keyword" not in text and "invalid combination" not in text and "missing" not in text:
        return None
    for node in _expressions(seen):
        callee = _callee(node.func, seen, text) if isinstance(node, ast.Call) else _MISSING
        module = getattr(callee, "__module__", None)
        home = module or getattr(getattr(callee, "__objclass__", None), "__module__", "")
        in_torch = is_torchs(home) or vars(torch).get(getattr(callee, "__name__", "")) is callee
        is_known = callee is not _MISSING and callable(callee) and in_torch
        found = _refused(node, callee, text) if isinstance(node, ast.Call) and is_known else None
        if found is not None:
            return found
    return None


def _expressions(seen: LiveFrame) -> Iterator[ast.expr]:
    """The expression that raised, and those in it; where Python cannot tell, all of the statement."""
    return (node for node in ast.walk(parsed(seen.failing or seen.code)) if isinstance(node, ast.expr))


def _resolved(node: ast.expr, seen: LiveFrame) -> Any:
    """What a dotted name stands for in the frame; nothing is called, and no property is asked."""
    if isinstance(node, ast.Name):
        return seen.locals.get(node.id, seen.frame.f_globals.get(node.id, _MISSING))
    if not isinstance(node, ast.Attribute):
        return _MISSING
    owner = _resolved(node.value, seen)
    if owner is _MISSING:
        return _MISSING
    if is_a(owner, (ModuleType, type)) or not hasattr(type(owner), node.attr):
        return inspect.getattr_static(owner, node.attr, _MISSING)
    return inspect.getattr_static(type(owner), node.attr, _MISSING)


def _callee(node: ast.expr, seen: LiveFrame, text: str) -> Any:
    """What is called; of a method of an expression's value, torch's own words tell that it is a tensor's."""
    found = _resolved(node, seen)
    if found is not _MISSING or not isinstance(node, ast.Attribute):
        return found
    is_tensor_method = text.startswith((f"Tensor.{node.attr}() ", f"{node.attr}() received an invalid"))
    return inspect.getattr_static(torch.Tensor, node.attr, _MISSING) if is_tensor_method else _MISSING


def _refused(node: ast.Call, callee: Any, text: str) -> NameEvidence | None:
    signature = _keywords(callee)
    # of a function written in C, the first line of its documentation: zeros(*size, *, out=None, dtype=None)
    usage = (getattr(callee, "__doc__", None) or "").strip().partition("\n")[0].partition(" ->")[0]
    taken = signature or _listed_keywords(text.partition("expected")[2]) or _listed_keywords(usage)
    passed = [keyword.arg for keyword in node.keywords if keyword.arg]
    refused = [name for name in passed if name not in taken]
    passed += signature[: len(node.args)]
    missing = re.search(r"missing \d+ required positional arguments?: [\"'](\w+)[\"']", text)
    if not taken or not (refused or missing):
        return None
    requested = next((name for name in refused if f"'{name}'" in text), refused[0] if refused else "")
    return NameEvidence(
        asked=requested or (missing[1] if missing else ""),
        form="keyword" if refused else "missing-argument",
        owner=_callee_name(callee, node),
        kind="class" if is_a(callee, type) else "function",
        lineage=lineage(callee) if is_a(callee, type) else (),
        near=nearest(requested, [name for name in taken if name not in passed]) if requested else (),
        keywords=tuple(name for name in taken if name not in passed),
        refused=tuple(refused),
    )


def _keywords(callee: Any) -> list[str]:
    """All arguments it takes by name; those handed on by **kwargs are taken from its base classes."""
    functions = [callee]
    if is_a(callee, type):
        functions = [vars(cls)["__init__"] for cls in callee.__mro__[:-1] if vars(cls).get("__init__") is not None]
    found: list[str] = []
    for function in functions:
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):  # written in C
            break
        named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
        found += [item.name for item in parameters if item.kind in named]
        if not any(item.kind is inspect.Parameter.VAR_KEYWORD for item in parameters):
            break
    return [name for name in dict.fromkeys(found) if name != "self" or not is_a(callee, type)]


def _listed_keywords(text: str) -> list[str]:
    """What torch's own list of overloads names: (Tensor input, tuple of ints dim, bool keepdim = False)"""
    return list(dict.fromkeys(re.findall(r"[\w\],(*] ?(\w+)(?: ?= ?[^,)]+)?(?=[,)])", text)))


def _callee_name(callee: Any, node: ast.Call) -> str:
    if is_a(callee, type):
        return public_name(callee)
    name = getattr(callee, "__name__", ast.unparse(node.func))
    if vars(torch).get(name) is callee:
        return f"torch.{name}"
    if getattr(callee, "__objclass__", None) is not None or vars(torch.Tensor).get(name) is callee:
        return f"torch.Tensor.{name}"
    home = sys.modules.get(getattr(callee, "__module__", ""))
    owner = vars(home).get(getattr(callee, "__qualname__", name).partition(".")[0]) if home else None
    if is_a(owner, type):
        return f"{public_name(owner)}.{name}"
    places = elsewhere(name, "")
    same = [place for place in places if place.rpartition(".")[0] == getattr(callee, "__module__", "")]
    return (same or places or (ast.unparse(node.func),))[0]


def _wrong_use(seen: LiveFrame, called: bool) -> NameEvidence | None:
    """x.shape() and x.size[0]; or a module of torch that is called as the function it once was."""
    for node in _expressions(seen):
        inner = node.func if isinstance(node, ast.Call) and called else None
        inner = node.value if isinstance(node, ast.Subscript) and not called else inner
        if not isinstance(inner, ast.Attribute):
            continue
        owner, value = _resolved(inner.value, seen), _resolved(inner, seen)
        if called and is_a(value, ModuleType) and is_torchs(value.__name__):
            return NameEvidence(inner.attr, "called", value.__name__, "module", (value.__name__,))
        if is_tensor(owner) and (inspect.isroutine(value) is not called):
            return NameEvidence(
                inner.attr, "called" if called else "indexed", "torch.Tensor", "tensor", ("torch.Tensor",)
            )
    return None


def examine_number(crash: LiveCrash) -> NameEvidence | None:
    """loss.data[0], as it was before PyTorch 0.4 had tensors without a dimension."""
    seen = crash.innermost
    if seen is None or not seen.user or not str(crash.error).startswith("invalid index of a 0-dim tensor"):
        return None
    for node in _expressions(seen):
        if isinstance(node, ast.Subscript) and ast.unparse(node.slice) == "0":
            inner = node.value
            bare = inner.value if isinstance(inner, ast.Attribute) and inner.attr == "data" else inner
            value = _resolved(bare, seen)
            if is_tensor(value) and value.dim() == 0:
                return NameEvidence(ast.unparse(node), "number", ast.unparse(bare), "tensor", ("torch.Tensor",))
    return None


def examine_removed(crash: LiveCrash) -> NameEvidence | None:
    """A function that torch keeps only to say that it is gone."""
    innermost = crash.innermost
    if innermost is None or not innermost.file.replace("\\", "/").endswith("torch/_linalg_utils.py"):
        return None
    if "removed" not in str(crash.error):
        return None
    return NameEvidence(innermost.function.lstrip("_"), "removed", "torch", "module", ("torch",))


# Names that exist: the nearest to one that does not, and the other places in torch that have it.
_CLOSE, _SHOWN = 0.78, 3
# Where people look for a name that stands in another room of torch.
_ROOMS = (
    "torch", "torch.nn", "torch.nn.functional", "torch.optim", "torch.optim.lr_scheduler", "torch.utils.data",
    "torch.linalg", "torch.fft", "torch.special", "torch.autograd", "torch.cuda", "torch.amp", "torch.nn.utils",
    "torch.nn.init", "torch.nn.parallel", "torch.nn.utils.rnn", "torch.distributed", "torch.distributions",
    "torch.utils.checkpoint", "torch.utils.tensorboard", "torch.backends.cudnn", "torch.profiler",
)  # fmt: skip


def nearest(requested: str, names: Iterable[str]) -> tuple[str, ...]:
    """The same but for case and underscores, else a few that are spelled alike."""
    private = requested.startswith("_")
    pool = [name for name in dict.fromkeys(names) if name != requested and (private or not name.startswith("_"))]
    same = [name for name in pool if name.lower().replace("_", "") == requested.lower().replace("_", "")]
    if same:
        return tuple(sorted(same, key=lambda name: name.lower() != requested.lower())[:1])
    close = difflib.get_close_matches(requested.lower(), [name.lower() for name in pool], 3 * _SHOWN, _CLOSE)
    alike = [name for low in dict.fromkeys(close) for name in pool if name.lower() == low]
    alike = [name for name in alike if not _means_another(requested, name)]
    return tuple(sorted(alike, key=lambda name: name[0].isupper() != requested[0].isupper())[:_SHOWN])


def _means_another(requested: str, name: str) -> bool:
    """conv3 and conv1, norm_q and norm_k, encoder and decoder are alike, and no misspellings of each other."""
    if re.findall(r"\d+", requested) != re.findall(r"\d+", name) or requested[0].lower() != name[0].lower():
        return True
    ours, theirs = requested.lower().split("_"), name.lower().split("_")
    pairs = zip(ours, theirs, strict=True) if len(ours) == len(theirs) else ()
    return any(one != other and min(len(one), len(other)) <= 3 for one, other in pairs)


def elsewhere(requested: str, but: str) -> tuple[str, ...]:
    """torch.nn.CrossEntropyLoss for a CrossEntropyLoss that was asked of torch."""
    found = []
    for room in _ROOMS:
        module = sys.modules.get(room)
        if room != but and is_a(module, ModuleType) and callable(vars(module).get(requested)):
            found.append(f"{room}.{requested}")
    if but != "torch.Tensor" and requested in vars(torch.Tensor) and not found:
        found.append(f"torch.Tensor.{requested}")
    return tuple(found[:_SHOWN])


def public_name(kind: type) -> str:
    """torch.nn.Linear for torch.nn.modules.linear.Linear; a class of the user's by its bare name."""
    if kind.__module__.partition(".")[0] not in ("torch", "torch_debugger"):
        return kind.__qualname__
    parts = kind.__module__.split(".")
    for length in range(1, len(parts) + 1):
        home = ".".join(parts[:length])
        if vars(sys.modules.get(home, torch)).get(kind.__name__) is kind:
            return f"{home}.{kind.__name__}"
    return f"{kind.__module__}.{kind.__qualname__}"


def lineage(kind: type) -> tuple[str, ...]:
    return tuple(public_name(cls) for cls in kind.__mro__ if cls is not object)


def is_torchs(home: Any) -> bool:
    """Whether a module's name is torch's, or ours."""
    return is_a(home, str) and home.partition(".")[0] in ("torch", "torch_debugger")


def our_names() -> tuple[str, ...]:
    """What our own front door offers, read where it is already open."""
    door = sys.modules.get(__name__.partition(".")[0])
    return tuple(getattr(door, "__all__", ()))
