"""What scripts log, as the events that TensorBoard's own plugins read: one file per kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch_debugger.records import (
    ChartsSummary,
    ForeignEvent,
    GraphSummary,
    HistogramSummary,
    HparamsSummary,
    MeshSummary,
    PictureSummary,
    PrCurveSummary,
    SoundSummary,
    Summary,
    TensorSummary,
    TextSummary,
    UncountedSummary,
)
from torch_debugger.runlog.summaries.charts import charts_event
from torch_debugger.runlog.summaries.histograms import histogram_event, uncounted_event
from torch_debugger.runlog.summaries.hparams import hparams_events
from torch_debugger.runlog.summaries.meshes import mesh_event
from torch_debugger.runlog.summaries.pictures import picture_event
from torch_debugger.runlog.summaries.pr_curves import pr_curve_event
from torch_debugger.runlog.summaries.sounds import sound_event
from torch_debugger.runlog.summaries.tensors import tensor_event
from torch_debugger.runlog.summaries.texts import text_event
from torch_debugger.runlog.summaries.whole_events import foreign_event, graph_event

_EVENTS: dict[type[Summary], Callable[[Any], bytes | list[bytes]]] = {
    ChartsSummary: charts_event,
    ForeignEvent: foreign_event,
    GraphSummary: graph_event,
    HistogramSummary: histogram_event,
    HparamsSummary: hparams_events,
    MeshSummary: mesh_event,
    PictureSummary: picture_event,
    PrCurveSummary: pr_curve_event,
    SoundSummary: sound_event,
    TensorSummary: tensor_event,
    TextSummary: text_event,
    UncountedSummary: uncounted_event,
}


def summary_events(record: Summary) -> list[bytes]:
    """The payloads for an event file. Slow for pictures and sounds: meant for the log's own thread."""
    made = _EVENTS[type(record)](record)
    return made if isinstance(made, list) else [made]
