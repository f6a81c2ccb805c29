"""`SummaryWriter`: the one line to change in a script that logs with torch's or tensorboardX's."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from time import time
from typing import Any

import numpy as np

from torch_debugger.records import (
    ChartsSummary,
    GraphSummary,
    HistogramSummary,
    HparamsSummary,
    MeshSummary,
    PictureSummary,
    PrCurveSummary,
    Scalars,
    SoundSummary,
    TensorSummary,
    TextSummary,
)
from torch_debugger.summaries.arguments import (
    MOST_THRESHOLDS,
    Layout,
    as_array,
    as_number,
    as_tensor,
    charts_of,
    choice_values,
    histogram_record,
    hparam_values,
    kind_of,
    mesh_part,
    metric_values,
    pr_curve,
    raw_pr_curve,
)
from torch_debugger.summaries.file_writer import Files, sparing, tell_instead
from torch_debugger.summaries.media import (
    boxes_of,
    figure_pixels,
    film_frames,
    picture_pixels,
    sound_samples,
)
from torch_debugger.system.clocks import time as clocks_time
from torch_debugger.system.errors import DebuggerError


# Numbers: the methods that a training calls most.
class ScalarWriter(Files):
    def add_scalar(
        self,
        tag: str = "",
        scalar_value: Any = None,
        global_step: Any = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
        display_name: str = "",
        summary_description: str = "",
        **unknown: Any,
    ) -> None:
        """NaN and Inf are kept. A number on a device is waited for, as with `.item()`."""
        try:
            if (
                type(scalar_value) is float
                and type(global_step) is int
                and type(tag) is str
                and walltime is None is self._time
                and not (new_style or display_name or summary_description or unknown)
                and (file := self.file_writer) is not None
                and (log := file.log) is not None
                and log.add_scalar(tag, scalar_value, global_step, time())
            ):
                return
            if unknown:
                advice = "; the step is called global_step" if "step" in unknown else ""
                raise DebuggerError(f"there is no parameter {', '.join(unknown)}{advice}")
            if isinstance(new_style, str):  # tensorboardX has the words where torch has the switches
                new_style, display_name = False, new_style
            if isinstance(double_precision, str):
                double_precision, summary_description = False, double_precision
            number, moment = as_number(scalar_value), self._moment(global_step, walltime)
            if new_style or display_name or summary_description:
                kind = "float64" if double_precision and new_style else "float32"
                with np.errstate(over="ignore"):  # Inf, as torch writes it
                    values = as_array(number).astype(kind)
                words = display_name, summary_description
                self._add(TensorSummary(*moment, str(tag), values, "scalars", b"", *words))
            else:
                self._get_file_writer().add_scalar(str(tag), number, *moment)
        except Exception as error:  # without `sparing`: its call would be a third of the cost
            tell_instead(self, "add_scalar", tag, error)

    @sparing
    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: dict[str, Any],
        global_step: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Curves of one chart: each goes to a run of its own in a folder inside this one."""
        step, when = self._moment(global_step, walltime)
        folder = self._get_file_writer().get_logdir()
        if not isinstance(tag_scalar_dict, Mapping):
            raise DebuggerError(f"expected numbers by name in a dictionary, got {kind_of(tag_scalar_dict)}")
        for tag, value in tag_scalar_dict.items():
            writer = self._file_writer_of(f"{folder}/{str(main_tag).replace('/', '_')}_{tag}")
            writer.add_scalar(str(main_tag), as_number(value), step, when)

    @sparing
    def add_tensor(self, tag: str, tensor: Any, global_step: Any = None, walltime: float | None = None) -> None:
        values = as_array(as_tensor(tensor)).copy()
        self._add(TensorSummary(*self._moment(global_step, walltime), str(tag), values, "tensor"))

    @sparing
    def export_scalars_to_json(self, path: str | os.PathLike[str]) -> None:
        """What `add_scalars` has written so far, read back: {folder: [[time, step, value], ...]}."""
        from torch_debugger.log.reader_records import read_log

        self.flush()
        folders = [folder for folder in self.all_writers or {} if folder != self.log_dir]
        curves = {
            folder: [
                [record.time, record.step, value]
                for record in read_log(folder)
                if isinstance(record, Scalars)
                for value in record.values.values()
            ]
            for folder in folders
        }
        with open(path, "w", encoding="utf-8") as file:
            json.dump(curves, file)


# Pictures, films, sounds and words.
class MediaWriter(Files):
    """What is written is encoded in the log's thread; only a copy of the pixels is made here."""

    @sparing
    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        pixels = picture_pixels(img_tensor, dataformats, self._remarks("add_image", tag))
        self._add(PictureSummary(*self._moment(global_step, walltime), str(tag), pixels))

    @sparing
    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """A grid of pictures; also of a list of pictures."""
        if isinstance(img_tensor, (list, tuple)) and len(dataformats) == 3:
            dataformats = f"N{dataformats}"
        pixels = picture_pixels(img_tensor, dataformats, self._remarks("add_images", tag))
        self._add(PictureSummary(*self._moment(global_step, walltime), str(tag), pixels))

    @sparing
    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: Any = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: Any = None,
        **kwargs: Any,
    ) -> None:
        """tensorboardX has the format where torch has the scale."""
        if isinstance(rescale, str):
            rescale, dataformats = 1, rescale
        pixels = picture_pixels(img_tensor, dataformats, self._remarks("add_image_with_boxes", tag))
        boxes = boxes_of(box_tensor, labels)
        step, when = self._moment(global_step, walltime)
        self._add(PictureSummary(step, when, str(tag), pixels, rescale=float(rescale), boxes=boxes))

    @sparing
    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: Any = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """A matplotlib figure, or a list of figures of one size."""
        many = isinstance(figure, (list, tuple))
        pictures = [figure_pixels(one, close) for one in (figure if many else [figure])]
        if len({picture.shape for picture in pictures}) > 1:
            raise DebuggerError(f"expected figures of one size, got {[one.shape[:2] for one in pictures]}")
        pixels = picture_pixels(np.stack(pictures), "NHWC", self._remarks("add_figure", tag))
        self._add(PictureSummary(*self._moment(global_step, walltime), str(tag), pixels))

    @sparing
    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: Any = None,
        fps: float = 4,
        walltime: float | None = None,
        dataformats: str = "NTCHW",
    ) -> None:
        """Kept as a GIF, which needs no other library."""
        frames = film_frames(vid_tensor, dataformats, self._remarks("add_video", tag))
        if not fps > 0:
            raise DebuggerError(f"expected fps above 0, got {fps}")
        step, when = self._moment(global_step, walltime)
        self._add(PictureSummary(step, when, str(tag), frames, frames_per_s=float(fps), film=True))

    @sparing
    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: Any = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        samples, clipped = sound_samples(snd_tensor)
        if clipped:
            loud = f"{clipped} of {samples.size} samples are not within -1 and 1"
            self._remarks("add_audio", tag)(f"{loud}: they are clipped, and silent where NaN.")
        self._add(SoundSummary(*self._moment(global_step, walltime), str(tag), samples, int(sample_rate)))

    @sparing
    def add_text(self, tag: str, text_string: Any, global_step: Any = None, walltime: float | None = None) -> None:
        """Markdown; what is no string is written as its text."""
        self._add(TextSummary(*self._moment(global_step, walltime), str(tag), str(text_string)))

    def _remarks(self, call: str, tag: str) -> Callable[[str], None]:
        return partial(self.complaints.remark, f"{call}({tag!r})")


# How values are spread: histograms, precision-recall curves, points in space.
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
        corners = mesh_part("vertices", vertices)
        if corners is None:
            raise DebuggerError("expected vertices of shape [batch, points, 3], got None")
        parts = mesh_part("colors", colors), mesh_part("faces", faces), json.dumps(config_dict or {}, sort_keys=True)
        self._add(MeshSummary(step, when, str(tag), corners, *parts))


class SummaryWriter(ScalarWriter, SpreadWriter, MediaWriter):
    """Writes what TensorBoard shows, with the methods and parameters of `torch.utils.tensorboard.SummaryWriter`
    and of `tensorboardX.SummaryWriter`; where the two differ, torch's meaning holds.

    No method raises into the training: what cannot be written is said once for each line of the script, on
    stderr, and counted. Files are written by a thread; `close()` or the end of the program completes them.
    """

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
        folder = os.path.join(self._get_file_writer().get_logdir(), str(run_name or name or clocks_time.time()))
        writer = self._new_file_writer(folder, None)
        try:
            writer.add(HparamsSummary(step, when, "", values, tuple(metrics), choice_values(hparam_domain_discrete)))
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
        from torch_debugger.model.graph import model_graph
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
