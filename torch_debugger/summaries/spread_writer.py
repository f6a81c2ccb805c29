"""How values are spread: histograms, precision-recall curves, points in space."""

from __future__ import annotations

from typing import Any

from torch_debugger.errors import DebuggerError
from torch_debugger.records import HistogramSummary, MeshSummary, PrCurveSummary
from torch_debugger.summaries.arrays import as_array, as_number
from torch_debugger.summaries.files import Files
from torch_debugger.summaries.histograms import histogram_record
from torch_debugger.summaries.meshes import mesh_config, mesh_part, mesh_vertices
from torch_debugger.summaries.pr_curves import MOST_THRESHOLDS, pr_curve, raw_pr_curve
from torch_debugger.summaries.sparing import sparing


class SpreadWriter(Files):
    @sparing
    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: Any = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Counted on the tensor's device, or by the log's thread where that is the host. NaN and Inf are in
        no bucket: where there are any, the scalars TAG/nan and TAG/inf count them."""
        moment, log = self._moment(global_step, walltime), self._get_file_writer().reopen()
        log.add(histogram_record(moment, str(tag), values, bins, max_bins, log.has_room))

    @sparing
    def add_histogram_raw(
        self,
        tag: str,
        min: Any,
        max: Any,
        num: Any,
        sum: Any,
        sum_squares: Any,
        bucket_limits: Any,
        bucket_counts: Any,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        limits, counts = (as_array(one).astype(float).reshape(-1) for one in (bucket_limits, bucket_counts))
        if len(limits) != len(counts):
            raise DebuggerError(f"expected as many counts as limits, got {len(counts)} and {len(limits)}")
        low, high, size, total, squares = map(as_number, (min, max, num, sum, sum_squares))
        step, when = self._moment(global_step, walltime)
        self._add(HistogramSummary(step, when, str(tag), low, high, size, total, squares, limits, counts))

    @sparing
    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        thresholds = min(int(num_thresholds), MOST_THRESHOLDS)
        curve = pr_curve(labels, predictions, thresholds, weights)
        self._add(PrCurveSummary(*self._moment(global_step, walltime), str(tag), curve, thresholds))

    @sparing
    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: Any = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        rows = {
            "true_positive_counts": true_positive_counts,
            "false_positive_counts": false_positive_counts,
            "true_negative_counts": true_negative_counts,
            "false_negative_counts": false_negative_counts,
            "precision": precision,
            "recall": recall,
        }
        thresholds = min(int(num_thresholds), MOST_THRESHOLDS)
        curve = raw_pr_curve(rows)
        self._add(PrCurveSummary(*self._moment(global_step, walltime), str(tag), curve, thresholds))

    @sparing
    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Any = None,
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        step, when = self._moment(global_step, walltime)
        parts = mesh_part("colors", colors), mesh_part("faces", faces), mesh_config(config_dict)
        self._add(MeshSummary(step, when, str(tag), mesh_vertices(vertices), *parts))
