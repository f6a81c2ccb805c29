"""A mesh at one step as the page draws it: plain arrays as base64, thinned where they are too large."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.archive.meshes import COLORS, FACES, VERTICES, MeshTags, part_of
from torch_debugger.archive.parsing import MESHES
from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError

_MOST_POINTS = 500_000
_MOST_FACES = 300_000
_MOST_STEPS = 400

Array = NDArray[Any]


def meshes_of(run: Run) -> list[MeshTags]:
    """By name, in the order in which they came."""
    found: dict[str, MeshTags] = {}
    for tag in run.tags.get(MESHES, []):
        name, kind = part_of(tag, run.plugin_content(MESHES, tag))
        if kind:
            found.setdefault(name, MeshTags(name)).tags[kind] = tag
    return [mesh for mesh in found.values() if VERTICES in mesh.tags]


def unknown_tags(run: Run) -> list[str]:
    """Those that belong to no mesh that could be shown."""
    shown = {tag for mesh in meshes_of(run) for tag in mesh.tags.values()}
    return [_readable(tag) for tag in run.tags.get(MESHES, []) if tag not in shown]


def mesh_list(run: Run) -> dict[str, Any]:
    steps = run.steps_of(MESHES)
    told = [(mesh, steps.get(mesh.tags[VERTICES], [])) for mesh in meshes_of(run)]
    return {
        "meshes": [
            {
                "name": _readable(mesh.name),
                "parts": sorted(mesh.tags),
                "all_steps": len(at),
                "steps": _spread(at, _MOST_STEPS),
            }
            for mesh, at in told
        ],
        "unknown": unknown_tags(run),
    }


def mesh_at(run: Run, name: str, step: int, sample: int) -> dict[str, Any]:
    mesh = next((each for each in meshes_of(run) if _readable(each.name) == name), None)
    if mesh is None:
        raise UsageError(f"There is no mesh {name!r} in this run.")
    parts = {kind: _last(run, tag, step) for kind, tag in mesh.tags.items()}
    vertices = parts[VERTICES]
    if vertices is None:
        raise UsageError(
            f"The points of {name!r} at step {step} are damaged: they are no array of [batch, points, 3]."
        )
    if not 0 <= sample < max(1, len(vertices)):
        raise UsageError(
            f"{name!r} has {len(vertices)} samples at step {step}, so there is no sample {sample}."
        )
    remarks: list[str] = []
    points = vertices[sample] if len(vertices) else np.zeros((0, 3))
    faces = _whole_faces(_sample_of(parts.get(FACES), sample), len(points), remarks)
    colors = _fitting(_sample_of(parts.get(COLORS), sample), len(points), remarks)
    points, colors, faces = _thinned(points, colors, faces, remarks)
    finite = np.isfinite(points).all(axis=1)
    if not finite.all():
        remarks.append(f"{np.count_nonzero(~finite):,} points with NaN or infinite coordinates are not drawn.")
    return {
        "name": name,
        "step": step,
        "samples": len(vertices),
        "points": len(points),
        "faces": 0 if faces is None else len(faces),
        "vertices": _packed(points, "<f4"),
        "triangles": None if faces is None else _packed(faces, "<u4"),
        "colors": None if colors is None else _packed(np.clip(np.nan_to_num(colors), 0, 255), "u1"),
        "remarks": remarks,
    }


def _last(run: Run, tag: str, step: int) -> Array | None:
    found = run.media_at(MESHES, tag, [step])
    return found[-1] if found else None


def _sample_of(part: Array | None, sample: int) -> Array | None:
    """Faces and colors of one mesh may serve for a batch of points."""
    if part is None or not len(part):
        return None
    return np.asarray(part[min(sample, len(part) - 1)])


def _whole_faces(faces: Array | None, points: int, remarks: list[str]) -> Array | None:
    if faces is None:
        return None
    whole = np.isfinite(faces).all(axis=1) & (faces >= 0).all(axis=1) & (faces < points).all(axis=1)
    if not whole.all():
        remarks.append(f"{np.count_nonzero(~whole):,} faces name points that are not there and are not drawn.")
    return faces[whole] if whole.any() else None


def _fitting(colors: Array | None, points: int, remarks: list[str]) -> Array | None:
    if colors is not None and len(colors) != points:
        remarks.append(f"There are {len(colors):,} colors for {points:,} points, so none are shown.")
        return None
    return colors


def _thinned(
    points: Array, colors: Array | None, faces: Array | None, remarks: list[str]
) -> tuple[Array, Array | None, Array | None]:
    if faces is not None and len(faces) > _MOST_FACES:
        remarks.append(f"Of {len(faces):,} faces {_MOST_FACES:,} are drawn, evenly chosen.")
        faces = faces[_evenly(len(faces), _MOST_FACES)]
    if faces is None and len(points) > _MOST_POINTS:
        remarks.append(f"Of {len(points):,} points {_MOST_POINTS:,} are drawn, evenly chosen.")
        kept = _evenly(len(points), _MOST_POINTS)
        return points[kept], None if colors is None else colors[kept], None
    return points, colors, faces


def _evenly(count: int, most: int) -> NDArray[np.int64]:
    return np.linspace(0, count - 1, most).astype(np.int64)


def _spread(steps: list[int], most: int) -> list[int]:
    return steps if len(steps) <= most else [steps[place] for place in _evenly(len(steps), most)]


def _packed(array: Array, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array).astype(kind).tobytes()).decode("ascii")


def _readable(tag: str) -> str:
    return tag.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
