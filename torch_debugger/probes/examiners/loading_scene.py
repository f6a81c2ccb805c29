"""The DataLoader of a crash: its iterator in torch's frames, itself in the user's, and its lines."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from torch.utils.data import DataLoader, Dataset, IterableDataset
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torch_debugger.anatomy.kinds import is_a, own_attributes
from torch_debugger.anatomy.places import class_place
from torch_debugger.anatomy.sources import class_source, place_at, tree_of
from torch_debugger.probes.examiners.scene import Scene
from torch_debugger.records import Place
from torch_debugger.records.evidence.loading import LoaderState


@dataclass(frozen=True)
class Loading:
    """The live objects."""

    iterator: Any
    dataset: Any
    loader: Any = None


def find_loading(scene: Scene) -> Loading | None:
    """The iterator whose method is in the traceback."""
    held = [seen.frame.f_locals.get("self") for seen in reversed(scene.frames) if not seen.user]
    found = [value for value in held if is_a(value, _BaseDataLoaderIter)]
    return loading_of(scene, found[0]) if found else None


def loading_of(scene: Scene, iterator: Any) -> Loading:
    dataset = iterator._dataset
    return Loading(iterator, dataset, _loader_of(scene, dataset))


def _loader_of(scene: Scene, dataset: Any) -> Any:
    return next((value for _, value in named_loaders(scene) if value.dataset is dataset), None)


def named_loaders(scene: Scene) -> Iterator[tuple[str, Any]]:
    """DataLoaders that the user's frames, and the objects whose methods they are, know by name."""
    for seen in reversed(scene.frames):
        own = own_attributes(seen.frame.f_locals.get("self"))
        for names in (seen.frame.f_locals, own, seen.frame.f_globals) if seen.user else ():
            yield from (
                (name, value) for name, value in list(names.items()) if issubclass(type(value), DataLoader)
            )


def describe_loader(scene: Scene, loading: Loading) -> LoaderState:
    iterator, dataset = loading.iterator, loading.dataset
    workers = getattr(iterator, "_num_workers", getattr(loading.loader, "num_workers", 0))
    return LoaderState(
        dataset=type(dataset).__name__,
        place=loader_place(scene, loading.loader),
        class_place=class_place(type(dataset)),
        dataset_place=method_place(type(dataset), "__getitem__") or method_place(type(dataset), "__iter__"),
        sample_place=return_place(type(dataset), "__getitem__"),
        none_place=none_place(type(dataset)),
        length=length_of(dataset),
        length_place=return_place(type(dataset), "__len__"),
        workers=workers,
        batch_size=getattr(loading.loader, "batch_size", None),
        start_method=start_method(getattr(loading.loader, "multiprocessing_context", None)) if workers else "",
        lacks=tuple(lacking_methods(dataset)),
    )


def lacking_methods(dataset: Any) -> Iterator[str]:
    if not is_a(dataset, IterableDataset):
        needed = {"__len__": None, "__getitem__": Dataset.__getitem__}
        yield from (name for name, stub in needed.items() if getattr(type(dataset), name, stub) is stub)


def start_method(context: Any) -> str:
    import multiprocessing

    chosen = context if context is not None else multiprocessing
    return str(chosen.get_start_method(allow_none=True) or multiprocessing.get_all_start_methods()[0])


def length_of(dataset: Any) -> int | None:
    try:
        return len(dataset)
    except Exception:  # no __len__, or one of the user's that fails
        return None


def loader_place(scene: Scene, loader: Any = None) -> Place:
    """The only `DataLoader(...)` call of the user's files, or the one given to a name of the loader's."""
    names = {name for name, value in named_loaders(scene) if value is loader}
    for seen in reversed(scene.frames):
        tree = tree_of(seen.file) if seen.user else None
        calls = (
            [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _makes_loader(node)]
            if tree
            else []
        )
        named = [call for target, call in _assigned(tree) if target in names and call in calls] if tree else []
        chosen = named if len(named) == 1 else calls
        if len(chosen) == 1:
            return place_at(seen.file, chosen[0].lineno)
    return Place()


def _makes_loader(node: ast.Call) -> bool:
    return ast.unparse(node.func).rpartition(".")[2] == "DataLoader"


def _assigned(tree: ast.Module) -> Iterator[tuple[str, ast.expr]]:
    for node in ast.walk(tree):
        target = node.targets[0] if isinstance(node, ast.Assign) and len(node.targets) == 1 else None
        if isinstance(node, ast.Assign) and isinstance(target, ast.Name | ast.Attribute):
            yield ast.unparse(target).rpartition(".")[2], node.value


def method_place(cls: type, name: str) -> Place:
    """The `def` line of a method, in the user's class that has it."""
    found = _method(cls, name)
    return place_at(found[0], found[1].lineno) if found else Place()


def return_place(cls: type, name: str) -> Place:
    """The line of a method's only `return` of something."""
    return _only_return(cls, name, nothing=False)


def none_place(cls: type) -> Place:
    """The line of __getitem__ that returns None."""
    return _only_return(cls, "__getitem__", nothing=True)


def _only_return(cls: type, name: str, nothing: bool) -> Place:
    found = _method(cls, name)
    returns = [node for node in ast.walk(found[1]) if isinstance(node, ast.Return)] if found else []
    chosen = [node for node in returns if _is_none(node.value) is nothing]
    return place_at(found[0], chosen[0].lineno) if found and len(chosen) == 1 else Place()


def _is_none(node: ast.expr | None) -> bool:
    return node is None or (isinstance(node, ast.Constant) and node.value is None)


def attribute_place(cls: type, attribute: str) -> Place:
    """The first line of the class that gives something to `self.attribute`."""
    for kind in cls.__mro__:
        source = class_source(kind)
        for node in ast.walk(source[1]) if source else ():
            targets = node.targets if isinstance(node, ast.Assign) else ()
            if source and any(isinstance(item, ast.Attribute) and item.attr == attribute for item in targets):
                return place_at(source[0], node.lineno)  # type: ignore[attr-defined]
    return Place()


def _method(cls: type, name: str) -> tuple[str, ast.FunctionDef] | None:
    for kind in cls.__mro__:
        source = class_source(kind)
        for node in source[1].body if source else ():
            if source and isinstance(node, ast.FunctionDef) and node.name == name:
                return source[0], node
    return None
