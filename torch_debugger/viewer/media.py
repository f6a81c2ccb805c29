"""Pictures, texts, sounds and histograms that were logged: which there are, and what one of them holds.

Without a tag: the tags and their steps, of which `find` chooses. With kind, tag and step: that event's content,
texts in full, pictures and sounds by what their bytes are; the bytes themselves are `picture` and `sound`.
"""

from __future__ import annotations

import base64
import io
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log.decoder_values import MESHES
from torch_debugger.log.media import COLORS, FACES, VERTICES, Histogram, MeshTags, part_of
from torch_debugger.log.run import Run
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer.questions import File, Query, readable

KINDS = ("pictures", "texts", "sounds", "histograms")
_MOST_TAGS = 400
_MOST_STEPS = 400
_MOST_COLUMNS = 80
_MOST_ITEMS = 64  # of one event
_MOST_CHARACTERS = 100_000
_ADDED = "/text_summary"  # to the name of a text by TensorBoard's writers


def answer_media(query: Query) -> dict[str, Any]:
    kind, tag = query.text("kind"), query.text("tag")
    if not tag:
        return query.of_run(lambda run: tags_of(run, query.text("find")))
    if kind not in KINDS:
        raise UsageError(f"kind is one of {', '.join(KINDS)}, not {kind!r}.")
    if kind == "histograms":
        return query.of_run(lambda run: histogram_of(run, tag))
    step = query.whole("step", 0)
    return query.of_run(lambda run: {"kind": kind, "tag": tag, "step": step, "items": items_of(run, kind, tag, step)})


def tags_of(run: Run, find: str = "") -> dict[str, Any]:
    pairs = [(kind, tag, steps) for kind in KINDS for tag, steps in run.steps_of(kind).items()]
    chosen = [each for each in pairs if find.casefold() in each[1].casefold()]
    tags = [
        {
            "kind": kind,
            "tag": readable(tag),
            "name": readable(tag.removesuffix(_ADDED)),
            "all_steps": len(steps),
            "steps": _spread(steps, _MOST_STEPS),
        }
        for kind, tag, steps in chosen[:_MOST_TAGS]
    ]
    return {"all": len(pairs), "found": len(chosen), "tags": tags}


def items_of(run: Run, kind: str, tag: str, step: int) -> list[dict[str, Any]]:
    found = run.media_at(kind, as_logged(run, kind, tag), [step])[:_MOST_ITEMS]
    if kind == "texts":
        return [{"text": each.text[:_MOST_CHARACTERS], "characters": len(each.text)} for each in found]
    facts = picture_facts if kind == "pictures" else sound_facts
    return [{"index": index, "bytes": len(each.data), **facts(each.data)} for index, each in enumerate(found)]


def histogram_of(run: Run, tag: str) -> dict[str, Any]:
    raw = as_logged(run, "histograms", tag)
    steps = run.steps_of("histograms").get(raw, [])
    heat = heat_of(run.media_at("histograms", raw, _spread(steps, _MOST_COLUMNS)))
    return {"kind": "histograms", "tag": tag, "all_steps": len(steps), **heat}


def _spread(steps: list[int], most: int) -> list[int]:
    """Evenly, the first and the last among them."""
    if len(steps) <= most:
        return steps
    return [steps[round(place * (len(steps) - 1) / (most - 1))] for place in range(most)]


def as_logged(run: Run, kind: str, tag: str) -> str:
    """A tag may hold bytes that are no text; a browser sends back what it was shown in their place."""
    return next((each for each in run.tags.get(kind, []) if readable(each) == tag), tag)


# One logged picture or sound as a file; what is none by its own first bytes is refused.
def answer_picture(query: Query) -> File:
    return _file_of(query, "pictures", picture_facts)


def answer_sound(query: Query) -> File:
    return _file_of(query, "sounds", sound_facts)


def _file_of(query: Query, kind: str, facts_of: Callable[[bytes], dict[str, Any]]) -> File:
    """By tag, step and index."""
    tag, step, index = query.text("tag"), query.whole("step", 0), query.whole("index", 0)
    found = query.of_run(lambda run: run.media_at(kind, as_logged(run, kind, tag), [step]))
    if not 0 <= index < len(found):
        raise UsageError(f"There is no {kind.removesuffix('s')} {index} of {tag!r} at step {step}.")
    facts = facts_of(found[index].data)
    if "problem" in facts:
        raise UsageError(facts["problem"])
    return File(found[index].data, facts["kind"])


# Meshes and point clouds of `add_mesh`: which there are with their steps or, with name and step, one of them.
#
# `sample` chooses among those that were logged as one batch.
def answer_meshes(query: Query) -> dict[str, Any]:
    name = query.text("name")
    if not name:
        return query.of_run(mesh_list)
    step, sample = query.whole("step", 0), query.whole("sample", 0)
    return query.of_run(lambda run: mesh_at(run, name, step, sample))


# What the bytes of a logged picture or sound really are. Only what is known by its first bytes is served.
_PICTURES = {"PNG": "image/png", "JPEG": "image/jpeg", "GIF": "image/gif", "WEBP": "image/webp"}
_MOST_PIXELS = 100_000_000
_SOUNDS = ((b"OggS", "audio/ogg"), (b"fLaC", "audio/flac"), (b"ID3", "audio/mpeg"), (b"\xff\xfb", "audio/mpeg"))


def picture_facts(data: bytes) -> dict[str, Any]:
    """`kind`, `width` and `height`, or a `problem` in a sentence. Reads the head of the picture alone."""
    from PIL import Image, UnidentifiedImageError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(io.BytesIO(data), formats=tuple(_PICTURES)) as picture:
                kind, (width, height) = str(picture.format), picture.size
    except UnidentifiedImageError:
        return {"problem": f"{_size(data)} were logged here that are no PNG, JPEG, GIF or WebP. They are not shown."}
    except Exception as error:  # Pillow's are many; the bytes may be anything
        return {"problem": f"This picture is damaged and cannot be shown ({type(error).__name__})."}
    if width * height > _MOST_PIXELS:
        return {"problem": f"This picture of {width} x {height} pixels is too large for a page."}
    return {"kind": _PICTURES[kind], "width": width, "height": height}


def sound_facts(data: bytes) -> dict[str, Any]:
    if data[:4] == b"RIFF" and data[8:12] == b"WAVE":
        return {"kind": "audio/wav"}
    known = next((kind for first, kind in _SOUNDS if data.startswith(first)), None)
    if known is None:
        return {"problem": f"{_size(data)} were logged here that are no WAV, FLAC, Ogg or MP3. They are not played."}
    return {"kind": known}


def _size(data: bytes) -> str:
    return f"{len(data):,} bytes"


# Histograms of one tag over the steps, on edges that they share: a picture with a column for each step.
_ROWS = 48


def heat_of(histograms: Sequence[Histogram]) -> dict[str, Any]:
    """shares[column][row]: which part of a step's values lies between edges[row] and edges[row + 1]."""
    sound = [each for each in histograms if len(each.counts) and np.isfinite(each.counts).all()]
    ends = [(_finite(each.lefts).min(initial=np.inf), _finite(each.rights).max(initial=-np.inf)) for each in sound]
    low = min((left for left, _ in ends), default=0.0)
    high = max((right for _, right in ends), default=1.0)
    if not np.isfinite(low) or not np.isfinite(high):
        low, high = 0.0, 1.0
    if high <= low:
        low, high = low - 0.5, high + 0.5
    edges = np.linspace(low, high, _ROWS + 1)
    return {
        "steps": [each.step for each in sound],
        "edges": edges.tolist(),
        "shares": [_shares(each, edges) for each in sound],
        "counts": [float(each.counts.sum()) for each in sound],
    }


def _shares(histogram: Histogram, edges: NDArray[np.float64]) -> list[float]:
    """A bucket's values are taken to be spread evenly over it; those of a single number lie in one row."""
    lefts = np.clip(histogram.lefts, edges[0], edges[-1])
    rights = np.clip(histogram.rights, edges[0], edges[-1])
    wide = rights > lefts
    starts = np.maximum(lefts[:, None], edges[None, :-1])
    stops = np.minimum(rights[:, None], edges[None, 1:])
    part = np.clip(stops - starts, 0, None) / np.where(wide, rights - lefts, 1.0)[:, None]
    rows = np.clip(np.searchsorted(edges, lefts[~wide], side="right") - 1, 0, _ROWS - 1)
    part[np.flatnonzero(~wide), rows] = 1.0
    total = float(histogram.counts.sum()) or 1.0
    return [round(float(share), 5) for share in (histogram.counts[:, None] * part).sum(0) / total]


def _finite(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return values[np.isfinite(values)]


# A mesh at one step as the page draws it: plain arrays as base64, thinned where they are too large.
_MOST_POINTS = 500_000
_MOST_FACES = 300_000

Array = NDArray[Any]


def meshes_of(run: Run) -> list[MeshTags]:
    """By name, in the order in which they came."""
    found: dict[str, MeshTags] = {}
    for tag in run.tags.get(MESHES, []):
        name, kind = part_of(tag, run.plugin_content(MESHES, tag))
        if kind:
            found.setdefault(name, MeshTags(name)).tags[kind] = tag
    return [mesh for mesh in found.values() if VERTICES in mesh.tags]


def mesh_list(run: Run) -> dict[str, Any]:
    steps = run.steps_of(MESHES)
    meshes = [(mesh, steps.get(mesh.tags[VERTICES], [])) for mesh in meshes_of(run)]
    shown = {tag for mesh, _ in meshes for tag in mesh.tags.values()}
    return {
        "meshes": [
            {
                "name": readable(mesh.name),
                "parts": sorted(mesh.tags),
                "all_steps": len(at),
                "steps": _spread_evenly(at, _MOST_STEPS),
            }
            for mesh, at in meshes
        ],
        "unknown": [readable(tag) for tag in run.tags.get(MESHES, []) if tag not in shown],  # of no mesh
    }


def mesh_at(run: Run, name: str, step: int, sample: int) -> dict[str, Any]:
    mesh = next((each for each in meshes_of(run) if readable(each.name) == name), None)
    if mesh is None:
        raise UsageError(f"There is no mesh {name!r} in this run.")
    parts = {kind: _last(run, tag, step) for kind, tag in mesh.tags.items()}
    vertices = parts[VERTICES]
    if vertices is None:
        raise UsageError(f"The points of {name!r} at step {step} are damaged: they are no array of [batch, points, 3].")
    if not 0 <= sample < max(1, len(vertices)):
        raise UsageError(f"{name!r} has {len(vertices)} samples at step {step}, so there is no sample {sample}.")
    remarks: list[str] = []
    points = vertices[sample] if len(vertices) else np.zeros((0, 3))
    faces = _sample_of(parts.get(FACES), sample)
    if faces is not None:
        whole = np.isfinite(faces).all(axis=1) & (faces >= 0).all(axis=1) & (faces < len(points)).all(axis=1)
        if not whole.all():
            remarks.append(f"{np.count_nonzero(~whole):,} faces name points that are not there and are not drawn.")
        faces = faces[whole] if whole.any() else None
    colors = _sample_of(parts.get(COLORS), sample)
    if colors is not None and len(colors) != len(points):
        remarks.append(f"There are {len(colors):,} colors for {len(points):,} points, so none are shown.")
        colors = None
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


def _spread_evenly(steps: list[int], most: int) -> list[int]:
    return steps if len(steps) <= most else [steps[place] for place in _evenly(len(steps), most)]


def _packed(array: Array, kind: str) -> str:
    return base64.b64encode(np.ascontiguousarray(array).astype(kind).tobytes()).decode("ascii")
