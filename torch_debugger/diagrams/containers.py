"""Module lists as parts: the calls of their modules, where nothing else happens in between."""

from __future__ import annotations

from collections.abc import Mapping

from torch_debugger.diagrams.parts import Part, relative_name
from torch_debugger.records.op_graph import MODULE, OPERATION


def with_containers(part: Part, classes: Mapping[str, str]) -> None:
    """`classes` has the class of the module at each path."""
    for inside in list(part.all_parts()):
        inside.parts = _grouped(inside, classes)


def _grouped(part: Part, classes: Mapping[str, str]) -> list[Part]:
    lists = [_lists_of(each, part.path) for each in part.parts]
    found: list[Part] = []
    at = 0
    while at < len(lists):
        path, end = _run(lists, at)
        if path and end - at < len(_ran(part.parts)):
            found.append(_container(part, path, part.parts[at:end], classes))
        else:
            found += part.parts[at:end]
        at = end
    return found


def _ran(parts: list[Part]) -> list[Part]:
    return [part for part in parts if part.kind in (MODULE, OPERATION)]


def _lists_of(part: Part, above: str) -> list[str]:
    """transformer and transformer.h for transformer.h.0, where these were not called; the outer first."""
    if part.kind != MODULE or (above and not part.path.startswith(f"{above}.")):
        return []
    names = part.path.split(".")
    depth = len(above.split(".")) if above else 0
    return [".".join(names[:end]) for end in range(depth + 1, len(names))]


def _run(lists: list[list[str]], at: int) -> tuple[str, int]:
    """The largest list whose calls all follow each other from here, and where they end."""
    for path in lists[at]:
        members = [place for place, each in enumerate(lists) if path in each]
        if members[0] == at and len(members) > 1 and members[-1] - at == len(members) - 1:
            return path, members[-1] + 1
    return "", at + 1


def _container(above: Part, path: str, parts: list[Part], classes: Mapping[str, str]) -> Part:
    for part in parts:
        part.name = relative_name(part.path, path)
    key = f"{above.key or above.scope}/{path}[]"
    name = relative_name(path, above.path)
    container = Part(key, MODULE, name, path, above.scope, classes.get(path, ""), parts=parts)
    container.parts = _grouped(container, classes)
    return container
