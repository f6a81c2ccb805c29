"""Where in the user's source a thing is: its class, its forward, a call, the line that makes it."""

from __future__ import annotations

import ast
import dataclasses
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from types import FrameType

from torch import nn

from torch_debugger.records import Place
from torch_debugger.source.attributes import Built, assigned, assignments, elements, registrations, replacements
from torch_debugger.source.files import class_source, class_sources, is_user_file, place_at, tree_of
from torch_debugger.source.objects import is_a
from torch_debugger.source.syntax import called_name, calls_in, dotted, methods_of

__all__ = ["class_place", "constructor_places", "find_call", "forward_place", "is_user_file", "place_at"]


def class_place(cls: type) -> Place:
    """The class statement, for a class of the user's."""
    source = class_source(cls)
    return place_at(source[0], source[1].lineno) if source else Place()


def forward_place(root: nn.Module) -> Place:
    """The `def forward` line of the user's class, or of the base class it comes from."""
    for file, statement in class_sources(type(root).__mro__):
        forward = methods_of(statement).get("forward")
        if forward is not None:
            return place_at(file, forward.lineno)
    return Place()


def find_call(file: str, first_line: int, last_line: int, names: tuple[str, ...]) -> Place | None:
    """The first call between two lines whose function's name ends with one of `names`."""
    tree = tree_of(file)
    for call in calls_in(tree) if tree is not None else ():
        if first_line <= call.lineno <= last_line and ast.unparse(call.func).endswith(names):
            return place_at(file, call.lineno)
    return None


# The user's line that constructs each module of a model, found in the source, not by running it.
_CONTAINERS = (nn.Sequential, nn.ModuleList, nn.ModuleDict)
_MODULE_LIMIT = 20_000


def constructor_places(root: nn.Module, root_name: str, files: Iterable[str] = ()) -> dict[str, Place]:
    """Module path -> the line that constructs it, for every module whose line can be told.

    `files` are searched for the assignment to `root_name`; by default those of the calling frames
    and the script itself. A layer inside a torch module (an encoder layer's linear1) gets the line
    of that module.
    """
    searched = list(files) or _nearby_files(sys._getframe(1))
    built: dict[str, Built] = {}
    if (made := _root_built(root, root_name, searched)) is not None:
        built[root_name] = made
    for owner_path, owner in _owners(root, root_name):
        replaced = _replaced(owner_path, searched)
        for name, made in _children_built(owner, built.get(owner_path), replaced):
            built.setdefault(f"{owner_path}.{name}", made)
    return {path: place_at(made.file, made.node.lineno, path) for path, made in built.items()}


def _nearby_files(frame: FrameType | None) -> list[str]:
    files: dict[str, None] = {}
    while frame is not None:
        files[frame.f_code.co_filename] = None
        frame = frame.f_back
    script = getattr(sys.modules.get("__main__"), "__file__", None)
    if isinstance(script, str):
        files[script] = None
    return [file for file in files if is_user_file(file)]


def _owners(root: nn.Module, root_name: str) -> Iterator[tuple[str, nn.Module]]:
    """Every module once, owners before what they own."""
    waiting, seen = [(root_name, root)], {id(root)}
    for path, owner in waiting:
        yield path, owner
        for name, module in _children(owner):
            if id(module) not in seen and len(seen) < _MODULE_LIMIT:
                seen.add(id(module))
                waiting.append((f"{path}.{name}", module))


def _children(owner: nn.Module) -> list[tuple[str, nn.Module]]:
    return [(name, child) for name, child in vars(owner).get("_modules", {}).items() if child is not None]


def _replaced(owner_path: str, files: Iterable[str]) -> dict[str, list[Built]]:
    """What is assigned to the owner's attributes from outside, by name: model.fc = nn.Linear(512, 2)"""
    trees = [(file, tree) for file in files if (tree := tree_of(file)) is not None]
    entries = [entry for file, tree in trees for entry in replacements(file, tree).items()]
    last = owner_path.rpartition(".")[2]
    return {name: made for (owner, name), made in entries if owner == last}


def _children_built(
    owner: nn.Module, owner_built: Built | None, replaced: dict[str, list[Built]]
) -> Iterator[tuple[str, Built]]:
    sources = class_sources(type(owner).__mro__)
    registered = [registrations(file, statement) for file, statement in sources]
    contained = _contained(owner, owner_built, sources) if isinstance(owner, _CONTAINERS) else []
    places = {name: place for place, name in enumerate(vars(owner).get("_modules", {}).keys())}
    for name, module in _children(owner):
        named = [made for entries in registered for made in (*entries.get(name, ()), *entries.get("", ()))]
        fitting = [made for made in replaced.get(name, ()) if _makes(made, module)]
        found = _best([*fitting, *(made for made in named if _names(made.key, name))], module)
        found = found or _element(contained, places, name, module)
        if found is None and not sources:
            found = owner_built  # a layer that torch makes inside its own module
        if found is not None:
            yield name, found


def _contained(owner: nn.Module, built: Built | None, sources: list[tuple[str, ast.ClassDef]]) -> list[Built]:
    """What fills a container: its own expression, or super().__init__(...) in a class derived from one."""
    if not sources:
        return elements(built) if built else []
    found: list[Built] = []
    for file, statement in sources:
        for method in statement.body:
            for node in ast.walk(method) if isinstance(method, ast.FunctionDef) else ():
                if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(").__init__"):
                    found += elements(Built(file, node, method, None, "self"))
    return found


def _names(key: ast.expr | None, name: str) -> bool:
    """Whether a key expression can be this name; an f-string counts by its fixed parts."""
    if isinstance(key, ast.Constant):
        return str(key.value) == name
    if not isinstance(key, ast.JoinedStr):
        return False
    parts = [re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".*" for part in key.values]
    return re.fullmatch("".join(parts), name) is not None


def _element(found: list[Built], places: dict[str, int], name: str, module: nn.Module) -> Built | None:
    keyed = [item for item in found if _names(item.key, name)]
    if keyed or not found:
        return _best(keyed, module)
    place, loops = places[name], [index for index, item in enumerate(found) if item.repeated]
    if len(found) == len(places) and not loops:
        return _best([found[place]], module)
    if loops and (place < loops[0] or loops == [len(found) - 1]):  # before the loop, or in it and nothing after
        return _best([found[min(place, loops[0])]], module)
    calls = [dataclasses.replace(item, node=_making(item, module)) for item in found]
    fitting = [item for item in calls if called_name(item.node) == type(module).__name__ and _fits(item, module)]
    if len({item.node.lineno for item in fitting}) == 1:
        return fitting[0]
    return found[0] if len(found) == 1 else None


def _best(found: Sequence[Built], module: nn.Module) -> Built | None:
    """The expression that makes a module of this class with these settings; else the only one."""
    calls = [dataclasses.replace(item, node=_making(item, module)) for item in found]
    if len(calls) < 2:
        return calls[0] if calls else None
    made = [item for item in calls if called_name(item.node) == type(module).__name__]
    fitting = [item for item in made if _fits(item, module)]
    return (fitting or made or calls)[0]


def _making(built: Built, module: nn.Module) -> ast.expr:
    """Inside `weight_norm(nn.Linear(4, 4)).to(device)`, the call of the module's class."""
    kind, node = type(module).__name__, built.node
    if isinstance(node, ast.Name) and (values := assigned(built.scope, node.id)):
        node = values[-1]
    if called_name(node) == kind:
        return node
    return next((part for part in ast.walk(node) if isinstance(part, ast.Call) and called_name(part) == kind), node)


def _makes(built: Built, module: nn.Module) -> bool:
    return called_name(_making(built, module)) == type(module).__name__


def _fits(built: Built, module: nn.Module) -> bool:
    """Whether the whole numbers written in the call are settings of this very module."""
    if not isinstance(built.node, ast.Call):
        return False
    known: set[int] = set()
    for value in vars(module).values():
        known.update(item for item in (value if is_a(value, tuple) else (value,)) if type(item) is int)
    written = [node.value for node in built.node.args if isinstance(node, ast.Constant)]
    return all(value in known for value in written if type(value) is int)


def _root_built(root: nn.Module, root_name: str, files: Iterable[str]) -> Built | None:
    """What the root's name is given; else the one call of its class, where the name is an argument's."""
    name = root_name.rpartition(".")[2]
    calls: list[Built] = []
    for file in files:
        tree = tree_of(file)
        bindings = assignments(tree) if tree is not None else ()
        named = [
            Built(file, node.value, scope, None, dotted(target))
            for node, scope in bindings
            for target in node.targets
            if dotted(target) in (name, f"self.{name}")
        ]
        if named:
            return _best(named, root)
        calls += [made for node, scope in bindings if _makes(made := Built(file, node.value, scope), root)]
    return _best(calls, root) if len(calls) == 1 else None
