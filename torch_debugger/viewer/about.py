"""What a view needs to know of a run before it asks for anything."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from torch_debugger.log.decoder_values import GRAPHS, MESHES
from torch_debugger.log.run import Run
from torch_debugger.records import BatchFact, BatchSample, InputLook, ModelFact, ModelFlow, TensorRows
from torch_debugger.report import sentences
from torch_debugger.report.result import ending_signal
from torch_debugger.system.redaction import redact_value
from torch_debugger.viewer.embeddings import has_any
from torch_debugger.viewer.labels import entry_of, read_labels
from torch_debugger.viewer.questions import Query, readable
from torch_debugger.viewer.timing import STEP_TAG

_STARTING_S = 60.0
_TIMED = {"ProfileFact", "TracedMemory"}  # of a trace of torch.profiler, which has no steps


def answer_about(query: Query) -> dict[str, Any]:
    given_name: str | None = None
    shown = query.shown_runs.all_shown().get(query.text("run"))
    if shown is not None:  # a report is of one run, by itself
        entry = entry_of(shown)
        given_name = read_labels(entry.folder).get(entry.key, {}).get("name")
    answer = query.of_run(about) | {"runs": len(query.shown_runs.names()), "given_name": given_name}
    answer["has"]["profile"] = bool(query.shown_runs.traces.files)
    return answer


def about(run: Run) -> dict[str, Any]:
    facts, tags = run.facts, run.tags
    caught = ending_signal(run.exit_code)
    # Its log is there and holds nothing yet: torch is being imported, say.
    is_empty = not run.is_watched and not run.tags and not run.record_kinds & _TIMED
    return {
        "run": run.name,
        "status": "starting" if (is_empty and time.time() - run.changed < _STARTING_S) else run.status,
        "ended_by": f"signal {caught.value} ({caught.name})" if caught is not None else None,
        "watched": run.is_watched,
        "steps": run.steps,
        "script": facts.run.script if facts.run else None,
        "started": facts.run.started if facts.run else None,
        "duration_s": run.duration_s,
        "loss_tag": run.loss_tag,
        "tags": {kind: len(found) for kind, found in tags.items()},
        "has": what_there_is(run),
        "ranks": len(run.ranks),
        "damage": run.damage,
        "not_shown": not_shown(run),
    }


def what_there_is(run: Run) -> dict[str, bool]:
    """By view: whether there is anything to show."""
    return {
        "layers": next(iter(run.records(TensorRows)), None) is not None,
        "model": bool(run.tags.get("graphs")) or next(iter(run.records(ModelFact)), None) is not None,
        "flow": next(iter(run.records(ModelFlow)), None) is not None,
        "data": next(iter(run.records(BatchSample, BatchFact, InputLook)), None) is not None,
        "pictures": any(run.tags.get(kind) for kind in ("pictures", "texts", "sounds", "histograms")),
        "meshes": bool(run.tags.get("mesh")),
        "projector": has_any(run),
        "ranks": len(run.ranks) > 1,
        "time": STEP_TAG in run.tags.get("scalars", []) or bool(run.record_kinds & _TIMED),
    }


# How a run was started, on what, and with which hyperparameters.
def answer_facts(query: Query) -> dict[str, Any]:
    return query.of_run(facts)


def facts(run: Run) -> dict[str, Any]:
    return {"rows": list(how_it_was_run(run)), "hparams": hparam_rows(run)}


# How a run was started, from which code, on what machine, with which hyperparameters: rows of words.
_MOST_HPARAMS = 100
_HARDWARE = ("cpu", "gpu", "gpus", "memory")
_PACKAGES = ("torch", "torchvision", "transformers", "lightning", "numpy")


def hparam_rows(run: Run) -> list[tuple[str, str]]:
    known = [(name, redact_value(name, value)) for name, value in run.hparams.items()]
    shown = [
        (name, sentences.number(value) if isinstance(value, float) else str(value))
        for name, value in known[:_MOST_HPARAMS]
    ]
    if len(known) > _MOST_HPARAMS:
        shown.append(("and", f"{len(known) - _MOST_HPARAMS:,} more"))
    return shown


def how_it_was_run(run: Run) -> Iterator[tuple[str, str]]:
    facts, around = run.facts, run.facts.surroundings
    if around is not None:
        yield "command", " ".join(around.command)
        if around.git_commit:
            changed = ", with changes" if around.git_dirty else ""
            yield "git", f"{around.git_commit[:12]} on {around.git_branch or 'no branch'}{changed}"
        if facts.seeds:
            yield "seeds", ", ".join(f"{name} {seed}" for name, seed in facts.seeds.items())
    if facts.run is not None:
        yield "device", facts.run.device
        yield "python", facts.run.python
    if around is not None:
        packages, hardware = around.packages, around.hardware
        yield from ((name, packages[name]) for name in _PACKAGES if name in packages)
        yield from ((name, hardware[name]) for name in _HARDWARE if name in hardware)
    if len(run.ranks) > 1:
        yield "ranks", f"{len(run.ranks):,}"


# What a log holds that no view of the page shows, with its count: nothing vanishes without a word.
_SHOWN = {"scalars", "histograms", "pictures", "texts", "sounds", "hparams", "pr_curves", "custom_scalars"}
_SHOWN |= {GRAPHS, MESHES}
# By kind, as `Run.tags` has them: what a reader calls it. Another kind goes by the name of its plugin.
_NAMES = {"tensors": "value of no known kind"}
_MOST_TAGS = 5  # that are named


def not_shown(run: Run) -> list[dict[str, Any]]:
    """A line for each kind: its name, how many tags it has, and the first of them."""
    kinds = {kind: tags for kind, tags in run.tags.items() if kind not in _SHOWN and tags}
    return [
        {
            "kind": _NAMES.get(kind, f"tag of the plugin {readable(kind)}"),
            "count": len(tags),
            "tags": [readable(tag) for tag in tags[:_MOST_TAGS]],
        }
        for kind, tags in kinds.items()
    ]
