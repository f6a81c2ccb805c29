"""What the views ask of a run: a report holds the answers. First what they ask at first sight, then, as far as
there is room, what a click or a slider asks for, the most wanted first.

tests/browser/test_report.py walks through all views of a report and meets every question that is missing here.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any
from urllib.parse import quote, quote_plus

from torch_debugger.log.run import Run

_LOSS_BUCKETS = "300"  # up to four points each
_BUCKETS = "80"
_FINE_BUCKETS = "300"
_MOST_TAGS = 300
_MEDIA_AT_ONCE = 24  # of a kind, as many as the view shows


@dataclass(frozen=True)
class Question:
    name: str
    given: Mapping[str, str] = field(default_factory=dict, hash=False)
    beside: Mapping[str, str] = field(default_factory=dict, hash=False, compare=False)  # what the key leaves open

    @property
    def key(self) -> str:
        """As web/src/asking.ts makes it: sorted, nothing empty, encoded as URLSearchParams does."""
        parameters = sorted((name, value) for name, value in self.given.items() if value != "")
        query = "&".join(f"{_encoded(name)}={_encoded(value)}" for name, value in parameters)
        return f"{self.name}?{query}" if query else self.name


Ask = Callable[[Question], Any]  # gives None where the run has nothing of the kind


def first_questions(run: Run, ask: Ask) -> Iterator[Question]:
    """The frame's, then view by view."""
    yield Question("session")
    yield Question("names")
    for name in ("about", "verdict", "checked", "facts", "tags", "marks", "timing", "ranks"):
        yield _of(run, name)
    for name in ("layers", "model", "samples", "data", "media", "scalar_charts"):
        yield _of(run, name)
    yield from _pr_curves(run, ask, lambda steps: steps[-1:])
    yield from (Question("explain", {"check": name}) for name in dict.fromkeys(each.name for each in run.findings))
    yield from _curves(run)
    yield from _maps(run, ask, most=1)
    yield from (_of(run, "samples", step=step) for step in _steps_of_samples(run, ask)[:1])
    yield from _media(run, ask, lambda steps: steps[-1:])
    yield from _spaces(run, ask, lambda steps: steps[-1:])


def further_questions(run: Run, ask: Ask) -> Iterator[Question]:
    yield from _maps(run, ask, most=None)
    yield from _models(run, ask)
    yield from (_of(run, "samples", step=step) for step in _steps_of_samples(run, ask)[1:])
    yield from (_of(run, "rank_curves", rank=rank) for rank in run.ranks if len(run.ranks) > 1)
    yield from _panels(run, ask)
    yield from _media(run, ask, lambda steps: steps[-2::-1])
    yield from _spaces(run, ask, lambda steps: steps[-2::-1])
    yield from _pr_curves(run, ask, lambda steps: steps[-2::-1])


def finer_curves(run: Run) -> Iterator[Question]:
    """The same as among the first, with more points: each takes the place of its coarser answer."""
    yield from (_curve(run, tag, _FINE_BUCKETS) for tag in _tags(run) if tag != run.loss_tag)


def _of(run: Run, question: str, /, **parameters: object) -> Question:
    return Question(question, {"run": run.name} | {key: str(value) for key, value in parameters.items()})


def _curves(run: Run) -> Iterator[Question]:
    """In a report every tag is asked for by itself and as a whole, whatever is zoomed to."""
    for tag in _tags(run):
        yield _curve(run, tag, _LOSS_BUCKETS if tag == run.loss_tag else _BUCKETS)


def _tags(run: Run) -> list[str]:
    tags = run.tags.get("scalars", [])
    return [tag for tag in tags if tag == run.loss_tag] + [tag for tag in tags if tag != run.loss_tag][:_MOST_TAGS]


def _curve(run: Run, tag: str, buckets: str) -> Question:
    name = json.dumps([tag], ensure_ascii=False, separators=(",", ":")) if "," in tag or tag[:1] in "[" else tag
    return Question("scalars", {"run": run.name, "tags": name}, {"width": buckets})


def _maps(run: Run, ask: Ask, most: int | None) -> Iterator[Question]:
    """Of each number of the layers, and of each model that has it; first the number that is shown first."""
    numbers = (ask(_of(run, "layers")) or {}).get("numbers", [])
    for number in sorted(numbers, key=lambda each: each["key"] != "activation.std")[:most]:
        yield from (_of(run, "layers", number=number["key"], model=model) for model in number["models"][:most])


def _panels(run: Run, ask: Ask) -> Iterator[Question]:
    """What a click on a layer shows: those with findings first."""
    grids = [ask(question) for question in _maps(run, ask, most=1)]
    layers = list(chain.from_iterable((grid or {}).get("layers", []) for grid in grids))
    guilty = {finding.where.module for finding in run.findings}
    for layer in sorted(layers, key=lambda name: name not in guilty):
        panel = _of(run, "layer", layer=layer)
        yield panel
        for source in (ask(panel) or {}).get("spreads", []):
            yield _of(run, "spreads", of=source["of"], name=source["name"])


def _models(run: Run, ask: Ask) -> Iterator[Question]:
    """The drawings of the other models, and the numbers by which each is coloured."""
    shown = ask(_of(run, "model")) or {}
    for root in shown.get("roots", []):
        question = _of(run, "model") if root == shown["root"] else _of(run, "model", root=root)
        yield question
        for number in (ask(question) or {}).get("numbers", []):
            yield _of(run, "model_health", root=root, number=number["key"])


def _steps_of_samples(run: Run, ask: Ask) -> list[int]:
    steps: list[int] = (ask(_of(run, "samples")) or {}).get("steps", [])
    return steps


def _media(run: Run, ask: Ask, steps_of: Callable[[list[int]], list[int]]) -> Iterator[Question]:
    tags = (ask(_of(run, "media")) or {}).get("tags", [])
    shown: dict[str, int] = {}
    for each in tags:
        shown[each["kind"]] = shown.get(each["kind"], 0) + 1
        if shown[each["kind"]] <= _MEDIA_AT_ONCE:
            yield from _events(run, ask, each["kind"], each["tag"], steps_of(each["steps"]))


def _pr_curves(run: Run, ask: Ask, steps_of: Callable[[list[int]], list[int]]) -> Iterator[Question]:
    if not run.tags.get("pr_curves"):
        return
    yield _of(run, "pr_curves")
    for each in (ask(_of(run, "pr_curves")) or {}).get("tags", [])[:_MEDIA_AT_ONCE]:
        yield from (_of(run, "pr_curves", tag=each["tag"], step=step) for step in steps_of(each["steps"]))


def _events(run: Run, ask: Ask, kind: str, tag: str, steps: list[int]) -> Iterator[Question]:
    if kind == "histograms":
        yield _of(run, "media", kind=kind, tag=tag)
        return
    for step in steps:
        event = _of(run, "media", kind=kind, tag=tag, step=step)
        yield event
        for item in (ask(event) or {}).get("items", []) if kind in _FILES else []:
            yield _of(run, _FILES[kind], tag=tag, step=step, index=item["index"])


def _spaces(run: Run, ask: Ask, steps_of: Callable[[list[int]], list[int]]) -> Iterator[Question]:
    """Meshes, and embeddings with the pictures of their points."""
    has = (ask(_of(run, "about")) or {}).get("has", {})
    if has.get("meshes"):
        yield _of(run, "meshes")
        for mesh in (ask(_of(run, "meshes")) or {}).get("meshes", []):
            yield from (_of(run, "meshes", name=mesh["name"], step=step) for step in steps_of(mesh["steps"]))
    if has.get("projector"):
        yield _of(run, "embeddings")
        for each in (ask(_of(run, "embeddings")) or {}).get("embeddings", []):
            for step in steps_of(each["steps"]):
                yield _of(run, "embeddings", tag=each["tag"], step=step)
                yield _of(run, "sprite", tag=each["tag"], step=step)


_FILES = {"pictures": "picture", "sounds": "sound"}


def _encoded(text: str) -> str:
    return quote_plus(text, safe="*", errors="replace").replace("~", "%7E")


# What the page asks of a report of several runs beside what it asks of each: the table and the comparison.
def shared_questions(runs: Sequence[Run]) -> Iterator[Question]:
    """The page asks a file for the details and the losses of all its runs at once, whatever is in sight."""
    names = _names(runs)
    yield Question("session")
    yield Question("names")
    yield Question("runs")
    yield Question("run_details", {}, {"names": names})
    yield Question("losses", {}, {"runs": names})
    yield _compare(runs[0], runs[1])


def questions_of_each(runs: Sequence[Run], ask: Ask) -> Iterator[Question]:
    return chain.from_iterable(first_questions(run, ask) for run in runs)


def further_questions_of(runs: Sequence[Run], ask: Ask) -> Iterator[Question]:
    """First each two of them compared, in either order, as they are chosen on the page."""
    yield from itertools.starmap(_compare, itertools.permutations(runs, 2))
    for run in runs:
        yield from further_questions(run, ask)
    for run in runs:
        yield from finer_curves(run)


def _compare(first: Run, second: Run) -> Question:
    return Question("compare", {"runs": _names([first, second])})


def _names(runs: Sequence[Run]) -> str:
    """As encodeURIComponent writes them."""
    return ",".join(quote(run.name, safe="!~*'()") for run in runs)
