"""`SummaryWriter`: the one line to change in a script that logs with torch's or tensorboardX's."""

from __future__ import annotations

import os
import sys
from typing import Any

from torch_debugger.clocks import time
from torch_debugger.errors import DebuggerError
from torch_debugger.records import Chart, ChartsSummary, GraphSummary, HparamsSummary, Scalars
from torch_debugger.summaries.arrays import as_number
from torch_debugger.summaries.charts import Layout, charts_of
from torch_debugger.summaries.hparams import choice_values, hparam_values, metric_values
from torch_debugger.summaries.media_writer import MediaWriter
from torch_debugger.summaries.scalar_writer import ScalarWriter
from torch_debugger.summaries.sparing import sparing
from torch_debugger.summaries.spread_writer import SpreadWriter


class SummaryWriter(ScalarWriter, SpreadWriter, MediaWriter):
    """Writes what TensorBoard shows, with the methods and parameters of `torch.utils.tensorboard.SummaryWriter`
    and of `tensorboardX.SummaryWriter`; where the two differ, torch's meaning holds.

    No method raises into the training: what cannot be written is said once for each line of the script, on
    stderr, and counted. Files are written by a thread; `close()` or the end of the program completes them.
    """

    def __init__(
        self,
        log_dir: Any = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
        write_to_disk: bool = True,
        logdir: Any = None,
        comet_config: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Without `log_dir` the folder is runs/DATE_HOST followed by `comment`. With `purge_step` readers
        forget what earlier files of the folder hold from that step on. The log is written at least once a
        second, whatever `max_queue` and `flush_secs` say."""
        super().__init__(
            log_dir,
            comment,
            purge_step,
            max_queue,
            flush_secs,
            filename_suffix,
            write_to_disk,
            logdir,
            comet_config,
            **kwargs,
        )
        self._charts: dict[tuple[str, str], Chart] = {}

    @sparing
    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: Any = None,
        name: str | None = None,
    ) -> None:
        """A run of its own, in the folder `run_name` inside this one, that TensorBoard compares with others by
        hyperparameters and metrics. tensorboardX calls `run_name` `name` and has it in the third place."""
        if isinstance(hparam_domain_discrete, str):
            hparam_domain_discrete, name = None, hparam_domain_discrete
        values, metrics = hparam_values(hparam_dict), metric_values(metric_dict)
        step, when = self._moment(global_step, None)
        folder = os.path.join(self._get_file_writer().get_logdir(), str(run_name or name or time.time()))
        writer = self._new_file_writer(folder, None)
        try:
            writer.add(
                HparamsSummary(step, when, "", values, tuple(metrics), choice_values(hparam_domain_discrete))
            )
            if metrics:
                writer.add(Scalars(step, when, {tag: as_number(value) for tag, value in metrics.items()}))
        finally:
            self._end(writer)

    @sparing
    def add_custom_scalars(self, layout: Layout) -> None:
        """Charts of several curves; those of earlier calls stay."""
        self._charts |= {(chart.category, chart.title): chart for chart in charts_of(layout)}
        self._add(ChartsSummary(*self._moment(None, None), "", tuple(self._charts.values())))

    def add_custom_scalars_multilinechart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: list[str], category: str = "default", title: str = "untitled"
    ) -> None:
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    @sparing
    def add_graph(
        self, model: Any, input_to_model: Any = None, verbose: bool = False, use_strict_trace: bool = True
    ) -> None:
        """The model's modules and operations with their shapes, from one run of it that leaves no trace."""
        from torch_debugger.anatomy.model_graph import model_graph
        from torch_debugger.summaries.model_graph import graph_def, graph_text

        graph = model_graph(model, input_to_model)
        self._add(GraphSummary(*self._moment(None, None), "", graph_def(graph)))
        if verbose:  # as torch's prints it
            sys.stdout.write(graph_text(graph))
        if graph.note:
            self.complaints.remark("add_graph()", graph.note)

    @sparing
    def add_onnx_graph(self, prototxt: Any = None, onnx_model_file: Any = None) -> None:
        from torch_debugger.summaries.onnx_graph import onnx_graph_def

        graph = onnx_graph_def(prototxt if prototxt is not None else onnx_model_file)
        self._add(GraphSummary(*self._moment(None, None), "", graph))

    @sparing
    def add_openvino_graph(self, xmlname: Any) -> None:
        raise DebuggerError(
            f"graphs of OpenVINO ({xmlname}) are not read; export the model to ONNX and use add_onnx_graph"
        )

    @sparing
    def add_embedding(
        self,
        mat: Any,
        metadata: Any = None,
        label_img: Any = None,
        global_step: Any = None,
        tag: str = "default",
        metadata_header: Any = None,
    ) -> None:
        """Points for the projector, in files of their own beside the log."""
        from torch_debugger.summaries.projector import write_projector

        step = self._moment(global_step, None)[0]
        folder = self._get_file_writer().get_logdir()
        remarks = write_projector(folder, str(tag), step, mat, metadata, label_img, metadata_header)
        if remarks:
            self.complaints.remark(f"add_embedding({tag!r})", " ".join(remarks))
