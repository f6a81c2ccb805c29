"""One question as it came from the page."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, TypeVar
from urllib.parse import unquote

import numpy as np
from numpy.typing import NDArray

from torch_debugger.log.run import Run
from torch_debugger.records import TensorRows
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer.shown_runs import ShownRuns

_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class Query:
    shown_runs: ShownRuns
    parameters: Mapping[str, str] = field(default_factory=dict)
    edit_token: str = ""
    edit: Mapping[str, Any] | None = None  # what the page wants changed; None for a question that only reads

    def text(self, name: str, default: str = "") -> str:
        return self.parameters.get(name, default)

    def whole(self, name: str, default: int) -> int:
        return int(self._number(name, default))

    def number(self, name: str, default: float | None = None) -> float | None:
        return self._number(name, default) if name in self.parameters or default is not None else None

    def _number(self, name: str, default: float | None) -> float:
        value = self.parameters.get(name, default)
        try:
            return float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            raise UsageError(f"{name} must be a number, but {value!r} came.") from None

    def of_run(self, question: Callable[[Run], _Answer]) -> _Answer:
        """What `question` makes of the run that was named, read up to now."""
        return self.shown_runs.ask(self.text("run"), question)


@dataclass(frozen=True)
class File:
    """An answer that is no JSON: a picture, a sound, a table to download."""

    content: bytes
    kind: str
    headers: Mapping[str, Any] = field(default_factory=dict)


# What the page asks, by the file whose `answer_NAME` answers `/ask/NAME`. An answer is JSON values; NaN and the
# infinities are words (`as_json`).
Answer = Callable[[Query], Any]
_QUESTIONS = {
    "about": ("about", "facts"),
    "compared_runs": ("compare", "losses", "grouped"),
    "data": ("data", "samples"),
    "embeddings": ("embeddings", "neighbours", "sprite"),
    "labels": ("labels", "edits"),
    "layers": ("layers",),
    "media": ("media", "picture", "sound", "meshes"),
    "models": ("model", "model_health"),
    "one_layer": ("layer", "spreads"),
    "ranks": ("ranks", "rank_curves"),
    "runs": ("session", "names", "pulse", "runs", "run_details"),
    "scalars": ("scalars", "tags", "marks", "points", "scalar_charts", "pr_curves"),
    "timing": ("timing",),
    "traces": ("traces", "trace", "trace_difference", "trace_ranks", "trace_timeline", "calls"),
    "verdict": ("verdict", "checked", "explain"),
}
_FILES = {name: file for file, names in _QUESTIONS.items() for name in names}


def question_names() -> frozenset[str]:
    return frozenset(_FILES)


def find_answer(name: str) -> Answer | None:
    """None for what is no question. The name is looked up among ours before anything is imported."""
    if name not in _FILES:
        return None
    answer: Answer = getattr(importlib.import_module(f"torch_debugger.viewer.{_FILES[name]}"), f"answer_{name}")
    return answer


# The built page: a script and a style sheet beside this file, and the few lines of HTML around them.
_KINDS = {"page.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8"}
_FRAME = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>torch-debugger</title>
<link rel="icon" href="data:,">
{head}</head>
<body>
{body}</body>
</html>
"""
_PAGE = _FRAME.format(
    head='<link rel="stylesheet" href="page.css">\n',
    body="""<div id="page"></div>
<noscript>This page needs JavaScript. Without it: torch-debugger runs, or torch-debugger report RUN.</noscript>
<script type="module" src="page.js"></script>
""",
)
_NOT_BUILT = _FRAME.format(
    head="",
    body="""<h1>The page is not built</h1>
<p>This copy of torch-debugger holds the page's sources only. In its folder, run</p>
<pre>make page</pre>
<p>and reload. It needs npm, or a network from which it can install Node with pip. Until then
<code>torch-debugger runs</code> lists the runs in the terminal.</p>
""",
)


def page_file(name: str) -> File | None:
    if name == "page.html":
        return File((_PAGE if _read("page.js") else _NOT_BUILT).encode(), "text/html; charset=utf-8")
    content = _read(name) if name in _KINDS else None
    return None if content is None else File(content, _KINDS[name])


def _read(name: str) -> bytes | None:
    try:
        return (files("torch_debugger.viewer") / "static" / name).read_bytes()
    except OSError:  # not built, or being built at this moment
        return None


# The numbers of layers over the steps of a run, as a grid that fits on a screen and into JSON.
UNMEASURED = -1.7e308  # no float32 comes near it
_MOST_STEPS = 600
_MOST_LAYERS = 1000


def layer_grid(tables: Sequence[TensorRows], column: str) -> dict[str, Any]:
    """values[layer][step]; null where a layer was not measured, and NaN and Inf as words."""
    tables = [rows for rows in tables if column in rows.table.columns]
    names = list(dict.fromkeys(name for rows in tables for name in rows.table.names))
    shown = names[:_MOST_LAYERS]
    values = _filled(tables, column, {name: place for place, name in enumerate(shown)})
    chosen = steps_to_show(values)
    return {
        "steps": [tables[index].step for index in chosen],
        "names": shown,
        "values": [[as_json(value) for value in row] for row in values[:, chosen].tolist()],
        "all_steps": len(tables),
        "all_layers": len(names),
    }


def thinned(values: NDArray[np.float64], most: int = _MOST_STEPS) -> list[int]:
    """The places of a curve worth showing: evenly spread, and never one fewer that is not finite."""
    return steps_to_show(values[None, :], most)


def thin_curve(run: Run, tag: str, most: int = _MOST_STEPS) -> dict[str, Any]:
    """One curve of a run with as many points as a small picture shows."""
    curve = run.scalars(tag)
    chosen = thinned(curve.values, most)
    values = [as_json(value) for value in curve.values[chosen].tolist()]
    return {"steps": curve.steps[chosen].tolist(), "values": values}


def last_value(run: Run, tag: str) -> float | str | None:
    values = run.scalars(tag).values
    return as_json(float(values[-1])) if len(values) else None


def readable(tag: str) -> str:
    """A tag may hold bytes that are no text."""
    return tag.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def as_json(value: float) -> float | str | None:
    if value == math.inf or value == -math.inf:
        return "inf" if value > 0 else "-inf"
    return None if value == UNMEASURED else "nan" if math.isnan(value) else value


def _filled(tables: Sequence[TensorRows], column: str, places: dict[str, int]) -> NDArray[np.float64]:
    values = np.full((len(places), len(tables)), UNMEASURED)
    for index, rows in enumerate(tables):
        known = [place for place, name in enumerate(rows.table.names) if name in places]
        where = [places[rows.table.names[place]] for place in known]
        values[where, index] = rows.values[known, rows.table.columns.index(column)]
    return values


def steps_to_show(values: NDArray[np.float64], most: int = _MOST_STEPS) -> list[int]:
    """One step of each stretch: its first with a number that is not finite, else its last."""
    count = values.shape[1]
    if count <= most:
        return list(range(count))
    bad = np.asarray(~np.isfinite(values).all(axis=0))
    edges = np.linspace(0, count, most + 1).astype(int)
    stretches = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
    return [start + int(bad[start:end].argmax()) if bad[start:end].any() else end - 1 for start, end in stretches]


# Several names in one parameter of a question.
_MOST = 500


def names_in(text: str) -> list[str]:
    """Separated by commas; or a JSON list, for names that have commas in them. Each once, in their order."""
    if not text.startswith("["):
        return list(dict.fromkeys(filter(None, text.split(","))))[:_MOST]
    try:
        names = json.loads(text)
    except ValueError:
        names = None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise UsageError(f"A list of names was expected, but {text[:200]!r} came.")
    return list(dict.fromkeys(names))[:_MOST]


# Names of runs in one parameter: separated by commas, each escaped like a part of an address.
def read_names(said: str) -> list[str]:
    """Each once, in the order given."""
    return list(dict.fromkeys(unquote(each) for each in said.split(",") if each))
