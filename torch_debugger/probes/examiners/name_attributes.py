"""An attribute that torch's modules and objects, or a module of the user's, do not have."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import ModuleType
from typing import Any

from torch import nn

from torch_debugger.anatomy.kinds import is_a, is_one_of, module_of_class, own_attributes
from torch_debugger.anatomy.sources import class_source, is_user_file, place_at
from torch_debugger.probes.crash_frames import Seen, is_tensor
from torch_debugger.probes.examiners.name_search import elsewhere, is_torchs, lineage, nearest, public_name
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place
from torch_debugger.records.evidence import NameEvidence

_WRAPPERS = ("module", "_orig_mod")


def examine_attribute(scene: Scene) -> NameEvidence | None:
    asked, owner = getattr(scene.error, "name", None), getattr(scene.error, "obj", None)
    if type(asked) is not str or owner is None or not asked_by_the_user(scene):
        return None
    if is_a(owner, ModuleType):
        return _of_module(asked, owner) if is_torchs(owner.__name__) else None
    if issubclass(type(owner), nn.Module):
        return _of_layer(scene, asked, owner)
    if is_a(owner, type):
        return _of_class(asked, owner) if is_torchs(module_of_class(owner)) else None
    return _of_snapshot(asked, owner) if is_one_of(owner, (list, dict)) else _of_object(asked, owner)


def _of_snapshot(asked: str, owner: list[Any] | dict[str, Any]) -> NameEvidence | None:
    """A plain list, but one that torch.cuda.memory_snapshot made, as its entries tell."""
    segments = owner.get("segments") if is_a(owner, dict) else owner
    first = segments[0] if is_a(segments, list) and segments else None
    if type(first) is not dict or not {"segment_type", "blocks", "total_size"} <= set(first):
        return None
    name = "torch.cuda.memory_snapshot()"
    return NameEvidence(asked, "attribute", name, "object", (name,))


def asked_by_the_user(scene: Scene) -> bool:
    """Whether the user's own line asked, and not something deeper inside torch."""
    frames = [seen for seen in scene.frames if seen.function != "__getattr__" or seen.user]
    return bool(frames) and frames[-1].user and len(scene.frames) - len(frames) <= 1


def _of_module(asked: str, owner: ModuleType) -> NameEvidence | None:
    names = dir(owner)
    if asked in names:
        return None
    name = owner.__name__
    return NameEvidence(
        asked, "attribute", name, "module", (name,), nearest(asked, names), elsewhere(asked, name)
    )


def _of_class(asked: str, owner: type) -> NameEvidence | None:
    if asked in dir(owner):
        return None
    name = public_name(owner)
    return NameEvidence(
        asked, "attribute", name, "class", lineage(owner), nearest(asked, dir(owner)), elsewhere(asked, name)
    )


def _of_object(asked: str, owner: Any) -> NameEvidence | None:
    kind = type(owner)
    torchs = [cls for cls in kind.__mro__ if is_torchs(cls.__module__)]
    names = {*dir(kind), *own_attributes(owner)}
    if not torchs or asked in names:
        return None
    form = "tensor" if is_tensor(owner) else "object"
    # of a class of the user's own only what it has from torch can be told
    near = nearest(asked, sorted(names))
    if not is_torchs(kind.__module__) and not near:
        return None
    return NameEvidence(asked, "attribute", public_name(torchs[0]), form, lineage(kind), near)


def _of_layer(scene: Scene, asked: str, owner: nn.Module) -> NameEvidence | None:
    held = vars(owner)
    if "_modules" not in held or asked in dir(type(owner)):
        return None  # super().__init__() did not run, or a property of that name raised
    parts = [held["_modules"], held.get("_parameters", {}), held.get("_buffers", {})]
    own = [name for part in (*parts, held) for name in part]
    if asked in own:
        return None
    place, form = _set_elsewhere(scene, asked, type(owner))
    return NameEvidence(
        asked=asked,
        form="attribute",
        owner=scene.paths.get(id(owner)) or public_name(type(owner)),
        kind="layer",
        lineage=lineage(type(owner)),
        near=nearest(asked, own) or nearest(asked, dir(type(owner))),
        inner=_wrapped_with(owner, asked),
        place=place,
        place_form=form,
    )


def _wrapped_with(owner: nn.Module, asked: str) -> str:
    """The name under which a wrapper keeps the model that has the attribute."""
    children = vars(owner)["_modules"]
    for name in _WRAPPERS:
        inner = children.get(name) if len(children) == 1 else None
        if inner is not None and (asked in dir(inner)):
            return name
    return ""


def _set_elsewhere(scene: Scene, asked: str, kind: type) -> tuple[Place, str]:
    """Where the user's class would set it: as a local variable, after the use, or in another method."""
    seen = next((item for item in reversed(scene.frames) if item.user), None)
    for cls in kind.__mro__:
        source = class_source(cls)
        if source is None or seen is None or not is_user_file(source[0]):
            continue
        for method in (node for node in source[1].body if isinstance(node, ast.FunctionDef)):
            for line, form in _assignments(method, asked):
                told = _form(method, line, form, seen, source[0])
                if told:
                    return place_at(source[0], line), told
    return Place(), ""


def _assignments(method: ast.FunctionDef, asked: str) -> Iterator[tuple[int, str]]:
    owner = method.args.args[0].arg if method.args.args else "self"
    for node in (part for part in ast.walk(method) if isinstance(part, ast.Assign)):
        for target in node.targets:
            written = ast.unparse(target)
            if written == asked and method.name == "__init__":
                yield node.lineno, "local"
            elif written == f"{owner}.{asked}":
                yield node.lineno, "set"


def _form(method: ast.FunctionDef, line: int, form: str, seen: Seen, file: str) -> str:
    inside = seen.file == file and method.lineno <= seen.line <= (method.end_lineno or 0)
    if form == "local":
        return "local"
    if method.name == "__init__":
        return "later" if inside and line > seen.line else ""
    return "" if inside else f"method {method.name}"
