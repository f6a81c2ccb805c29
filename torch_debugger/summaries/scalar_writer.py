"""Numbers: the methods that a training calls most."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from time import time
from typing import Any

import numpy as np

from torch_debugger.errors import DebuggerError
from torch_debugger.records import Scalars, TensorSummary
from torch_debugger.summaries.arrays import as_array, as_number, as_tensor, kind_of
from torch_debugger.summaries.files import Files
from torch_debugger.summaries.sparing import sparing, tell_instead


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
                raise DebuggerError(_not_taken(unknown))
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
        from torch_debugger.runlog.reader import read_log

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


def _not_taken(unknown: dict[str, Any]) -> str:
    advice = "; the step is called global_step" if "step" in unknown else ""
    return f"there is no parameter {', '.join(unknown)}{advice}"
