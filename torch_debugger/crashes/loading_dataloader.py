"""The DataLoader of a crash: its iterator in torch's frames, itself in the user's, and its lines."""

from __future__ import annotations

import ast
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import GeneratorType
from typing import Any

import numpy
import torch
from torch.utils.data import BatchSampler, DataLoader, Dataset, IterableDataset, SequentialSampler
from torch.utils.data.dataloader import _BaseDataLoaderIter

from torch_debugger.crashes.frames import LiveCrash, kind_name
from torch_debugger.crashes.functions import is_none
from torch_debugger.records import Place
from torch_debugger.records.crash_loading import LoaderState, OddPart
from torch_debugger.source.constructors import class_place
from torch_debugger.source.files import class_sources, nodes_of, place_at, tree_of
from torch_debugger.source.objects import is_a, own_attributes
from torch_debugger.source.syntax import called_name, methods_of


@dataclass(frozen=True)
class FailedLoading:
    """The live objects."""

    iterator: Any
    dataset: Any
    loader: Any = None


def find_loading(crash: LiveCrash) -> FailedLoading | None:
    """The iterator whose method is in the traceback."""
    owners = [seen.locals.get("self") for seen in reversed(crash.frames) if not seen.user]
    found = [value for value in owners if is_a(value, _BaseDataLoaderIter)]
    return loading_of(crash, found[0]) if found else None


def loading_of(crash: LiveCrash, iterator: Any) -> FailedLoading:
    dataset = iterator._dataset
    loader = next((value for _, value in named_loaders(crash) if value.dataset is dataset), None)
    return FailedLoading(iterator, dataset, loader)


def named_loaders(crash: LiveCrash) -> Iterator[tuple[str, Any]]:
    """DataLoaders that the user's frames, and the objects whose methods they are, know by name."""
    for seen in reversed(crash.frames):
        own = own_attributes(seen.locals.get("self"))
        for names in (seen.locals, own, seen.frame.f_globals) if seen.user else ():
            yield from ((name, value) for name, value in list(names.items()) if issubclass(type(value), DataLoader))


def describe_loader(crash: LiveCrash, loading: FailedLoading) -> LoaderState:
    iterator, dataset = loading.iterator, loading.dataset
    workers = getattr(iterator, "_num_workers", getattr(loading.loader, "num_workers", 0))
    return LoaderState(
        dataset=type(dataset).__name__,
        place=loader_place(crash, loading.loader),
        class_place=class_place(type(dataset)),
        dataset_place=method_place(type(dataset), "__getitem__") or method_place(type(dataset), "__iter__"),
        sample_place=return_place(type(dataset), "__getitem__"),
        none_place=return_place(type(dataset), "__getitem__", nothing=True),
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


def loader_place(crash: LiveCrash, loader: Any = None) -> Place:
    """The only `DataLoader(...)` call of the user's files, or the one given to a name of the loader's."""
    names = {name for name, value in named_loaders(crash) if value is loader}
    for file in (seen.file for seen in crash.user_frames):
        nodes = nodes_of(tree_of(file) or ast.Module([], []))
        calls = [node for node in nodes if isinstance(node, ast.Call) and called_name(node) == "DataLoader"]
        single = [node for node in nodes if isinstance(node, ast.Assign) and len(node.targets) == 1]
        written = [(ast.unparse(node.targets[0]).rpartition(".")[2], node.value) for node in single]
        named = [value for name, value in written if name in names and value in calls]
        chosen = named if len(named) == 1 else calls
        if len(chosen) == 1:
            return place_at(file, chosen[0].lineno)
    return Place()


def method_place(cls: type, name: str) -> Place:
    """The `def` line of a method, in the user's class that has it."""
    found = _method(cls, name)
    return place_at(found[0], found[1].lineno) if found else Place()


def return_place(cls: type, name: str, nothing: bool = False) -> Place:
    """The line of a method's only `return` of something, or of nothing."""
    found = _method(cls, name)
    returns = [node for node in ast.walk(found[1]) if isinstance(node, ast.Return)] if found else []
    chosen = [node for node in returns if is_none(node.value) is nothing]
    return place_at(found[0], chosen[0].lineno) if found and len(chosen) == 1 else Place()


def _method(cls: type, name: str) -> tuple[str, ast.FunctionDef] | None:
    for file, statement in class_sources(cls.__mro__):
        method = methods_of(statement).get(name)
        if method is not None:
            return file, method
    return None


# Which samples a batch was made of, as far as the sampler's order can still be read.
def failed_batch(crash: LiveCrash, iterator: Any) -> int | None:
    """The number of the batch whose error was handed on; it has been counted as received by then."""
    seen = crash.frame_of("_next_data", "dataloader.py")
    if getattr(iterator, "_num_workers", 0) == 0:
        return getattr(iterator, "_num_yielded", None)
    if seen is not None and not getattr(iterator, "_in_order", True):
        number = seen.locals.get("idx")
        return number if type(number) is int else None
    received = getattr(iterator, "_rcvd_idx", None)
    return received - 1 if type(received) is int and received else None


def batch_indices(iterator: Any, batch: int | None) -> tuple[int, ...]:
    """Nothing where a random order is spent: then it is kept nowhere."""
    sampler = getattr(iterator, "_index_sampler", None)
    if batch is None or sampler is None:
        return ()
    if type(sampler) is list:
        return _whole(sampler[batch]) if batch < len(sampler) else ()
    size = sampler.batch_size if type(sampler) is BatchSampler else 1
    order = _order(sampler.sampler if type(sampler) is BatchSampler else sampler, iterator)
    return _whole(order[batch * size : (batch + 1) * size])


def _order(sampler: Any, iterator: Any) -> Sequence[Any]:
    if type(sampler) is SequentialSampler:
        return range(len(sampler))
    running = getattr(iterator, "_sampler_iter", None)
    frame = running.gi_frame if is_a(running, GeneratorType) else None
    single = frame.f_locals.get("sampler_iter", running) if frame is not None else None
    source = single.gi_yieldfrom if is_a(single, GeneratorType) else None
    # A list's iterator tells the list it goes through, and goes on from where it is.
    return source.__reduce__()[1][0] if type(source) is type(iter([])) else ()


def _whole(indices: Any) -> tuple[int, ...]:
    listed = list(indices) if is_a(indices, (list, tuple, range)) else [indices]
    return tuple(listed) if all(type(index) is int for index in listed) else ()


# What samples are made of, and where those of one batch differ.
_PARTS, _DEPTH = 32, 4
_NUMBERS = ("int", "float", "bool", "numpy scalar")
_CONTAINERS = ("tuple", "list", "dict")
_BATCHED = ("number", *_CONTAINERS, "tensor", "ndarray", "str", "bytes")


@dataclass(frozen=True)
class ValueForm:
    """The kind of a value and, of containers, the forms of its parts."""

    kind: str
    detail: str = ""  # float32 [3, 8]
    parts: tuple[tuple[str, ValueForm], ...] = ()  # by how they are reached: [0], ['image']
    own_bytes: int = 0

    @property
    def size_bytes(self) -> int:
        return self.own_bytes + sum(part.size_bytes for _, part in self.parts)

    @property
    def kind_in_batch(self) -> str:
        return "number" if self.kind in _NUMBERS else self.kind

    @property
    def keys(self) -> tuple[str, ...]:
        """How long a container is and, of a dict, its keys."""
        return (self.detail, *(key for key, _ in self.parts)) if self.kind == "dict" else (self.detail,)

    @property
    def words(self) -> str:
        if self.kind in ("tuple", "list"):
            inside = ", ".join(part.words for _, part in self.parts[:4])
            return f"{self.kind} of {self.detail}" + (f" ({inside})" if len(self.parts) <= 4 else "")
        if self.kind == "dict":
            return f"dict with {', '.join(key[1:-1] for key, _ in self.parts[:4])}"
        return " ".join(filter(None, (self.kind, self.detail)))


def form_of(value: Any, depth: int = 0) -> ValueForm:
    """Of values of the user's classes only the name: they are not asked anything."""
    if value is None:
        return ValueForm("None")
    if is_a(value, torch.Tensor):
        return ValueForm("tensor", f"{str(value.dtype).removeprefix('torch.')} {list(value.shape)}", (), value.nbytes)
    if is_a(value, numpy.ndarray):
        kind = "ndarray" if value.dtype.kind not in "USO" else f"ndarray of {value.dtype}"
        return ValueForm(kind, f"{value.dtype} {list(value.shape)}" if kind == "ndarray" else "", (), value.nbytes)
    if is_a(value, numpy.generic) and not is_a(value, (str, bytes)):
        return ValueForm("numpy scalar", str(value.dtype))
    if is_a(value, Mapping) and type(value) is dict:
        return ValueForm("dict", str(len(value)), _parts(((f"[{key!r}]", item) for key, item in value.items()), depth))
    if is_a(value, tuple) or is_a(value, list):
        # also of a class of the user's, without asking it
        items: list[Any] = list(list.__iter__(value) if is_a(value, list) else tuple.__iter__(value))
        numbered = ((f"[{place}]", item) for place, item in enumerate(items[:_PARTS]))
        return ValueForm("list" if is_a(value, list) else "tuple", str(len(items)), _parts(numbered, depth))
    return ValueForm(kind_name(type(value)))


def _parts(items: Any, depth: int) -> tuple[tuple[str, ValueForm], ...]:
    if depth >= _DEPTH:
        return ()
    return tuple((key, form_of(item, depth + 1)) for (key, item), _ in zip(items, range(_PARTS), strict=False))


def differing_part(samples: Sequence[tuple[int, ValueForm]], path: str = "") -> OddPart | None:
    """The first part that no batch can be made of, or that differs from what the other samples have."""
    kinds = Counter(form.kind_in_batch for _, form in samples)
    rare = next((kind for kind in kinds if kind not in _BATCHED), "")
    if not rare and len(kinds) > 1:
        rare = min(kinds, key=lambda kind: kinds[kind])
    if rare:
        return _differing(samples, path, lambda form: form.kind_in_batch == rare)
    kind = next(iter(kinds), "")
    if kind in ("tensor", "ndarray") and len({form.detail for _, form in samples}) > 1:
        usual = Counter(form.words for _, form in samples).most_common(1)[0][0]
        return _differing(samples, path, lambda form: form.words != usual)
    if kind not in _CONTAINERS:
        return None
    shapes = Counter(form.keys for _, form in samples)
    if len(shapes) > 1:
        fewest, most = (pick(shapes, key=lambda keys: shapes[keys]) for pick in (min, max))
        differing = _differing(samples, path, lambda form: form.keys == fewest)
        examples = [next(form for _, form in samples if form.keys == keys) for keys in (fewest, most)]
        words = [form.words if form.kind == "dict" else f"{form.kind} of {form.detail}" for form in examples]
        return dataclasses.replace(differing, kind=words[0], usual=words[1])
    for place, (key, _) in enumerate(samples[0][1].parts):
        inside = [(index, form.parts[place][1]) for index, form in samples]
        if (found := differing_part(inside, path + key)) is not None:
            return found
    return None


def _differing(samples: Sequence[tuple[int, ValueForm]], path: str, differs: Callable[[ValueForm], bool]) -> OddPart:
    differing = [(index, form) for index, form in samples if differs(form)]
    usual = Counter(form.words for _, form in samples if not differs(form)).most_common(1)
    indices = tuple(index for index, _ in differing)[:_PARTS]
    return OddPart(path, differing[0][1].words, usual[0][0] if usual else "", indices, len(samples))
