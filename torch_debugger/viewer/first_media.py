"""What the views of data and of pictures ask first: as far as it fits, a report holds it."""

from __future__ import annotations

from collections.abc import Iterator

from torch_debugger.archive.run import Run
from torch_debugger.viewer.questions.media import items_of, tags_of
from torch_debugger.viewer.questions.samples import headings

_MOST_TAGS = 24
_MOST_PICTURES = 8  # of one event

Asked = tuple[str, dict[str, str]]


def data_asked(run: Run) -> Iterator[Asked]:
    yield "data", {"run": run.name}
    yield "samples", {"run": run.name}
    for step in headings(run)["steps"]:
        yield "samples", {"run": run.name, "step": str(step)}


def media_asked(run: Run) -> Iterator[Asked]:
    """The last step of each tag, with the files of its pictures and sounds."""
    yield "media", {"run": run.name}
    for tag in tags_of(run)["tags"][:_MOST_TAGS]:
        given = {"run": run.name, "kind": tag["kind"], "tag": tag["tag"]}
        if tag["kind"] == "histograms":
            yield "media", given
        else:
            yield from _event_asked(run, given, tag["steps"][-1])


def _event_asked(run: Run, given: dict[str, str], step: int) -> Iterator[Asked]:
    yield "media", {**given, "step": str(step)}
    question = {"pictures": "picture", "sounds": "sound"}.get(given["kind"])
    if question is not None:
        for item in items_of(run, given["kind"], given["tag"], step)[:_MOST_PICTURES]:
            file = {"run": run.name, "tag": given["tag"], "step": str(step), "index": str(item["index"])}
            yield question, file
