"""Pictures, texts, sounds and histograms that were logged: which there are, and what one of them holds.

Without a tag: the tags and their steps, of which `find` chooses. With kind, tag and step: that event's content,
texts in full, pictures and sounds by what their bytes are; the bytes themselves are `picture` and `sound`.
"""

from __future__ import annotations

from typing import Any

from torch_debugger.archive.run import Run
from torch_debugger.errors import UsageError
from torch_debugger.viewer.asked import Asked
from torch_debugger.viewer.histogram_heat import heat_of
from torch_debugger.viewer.media_bytes import picture_facts, sound_facts

KINDS = ("pictures", "texts", "sounds", "histograms")
_MOST_TAGS = 400
_MOST_STEPS = 400
_MOST_COLUMNS = 80
_MOST_ITEMS = 64  # of one event
_MOST_CHARACTERS = 100_000
_ADDED = "/text_summary"  # to the name of a text by TensorBoard's writers


def answer(asked: Asked) -> dict[str, Any]:
    kind, tag = asked.text("kind"), asked.text("tag")
    if not tag:
        return asked.of_run(lambda run: tags_of(run, asked.text("find")))
    if kind not in KINDS:
        raise UsageError(f"kind is one of {', '.join(KINDS)}, not {kind!r}.")
    if kind == "histograms":
        return asked.of_run(lambda run: histogram_of(run, tag))
    step = asked.whole("step", 0)
    return asked.of_run(
        lambda run: {"kind": kind, "tag": tag, "step": step, "items": items_of(run, kind, tag, step)}
    )


def tags_of(run: Run, find: str = "") -> dict[str, Any]:
    pairs = [(kind, tag, steps) for kind in KINDS for tag, steps in run.steps_of(kind).items()]
    chosen = [each for each in pairs if find.casefold() in each[1].casefold()]
    return {
        "all": len(pairs),
        "found": len(chosen),
        "tags": [_told_tag(*each) for each in chosen[:_MOST_TAGS]],
    }


def _told_tag(kind: str, tag: str, steps: list[int]) -> dict[str, Any]:
    name, shown = _readable(tag.removesuffix(_ADDED)), _spread(steps, _MOST_STEPS)
    return {"kind": kind, "tag": _readable(tag), "name": name, "all_steps": len(steps), "steps": shown}


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


def medium_at(asked: Asked, kind: str) -> bytes:
    """The bytes of one picture or sound, by tag, step and index."""
    tag, step, index = asked.text("tag"), asked.whole("step", 0), asked.whole("index", 0)
    found = asked.of_run(lambda run: run.media_at(kind, as_logged(run, kind, tag), [step]))
    if not 0 <= index < len(found):
        raise UsageError(f"There is no {kind.removesuffix('s')} {index} of {tag!r} at step {step}.")
    data: bytes = found[index].data
    return data


def _spread(steps: list[int], most: int) -> list[int]:
    """Evenly, the first and the last among them."""
    if len(steps) <= most:
        return steps
    return [steps[round(place * (len(steps) - 1) / (most - 1))] for place in range(most)]


def as_logged(run: Run, kind: str, tag: str) -> str:
    """A tag may hold bytes that are no text; a browser sends back what it was shown in their place."""
    return next((each for each in run.tags.get(kind, []) if _readable(each) == tag), tag)


def _readable(tag: str) -> str:
    return tag.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
