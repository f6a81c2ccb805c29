"""Find out why a PyTorch training run goes wrong.

    torch-debugger run train.py

Names are loaded on first use: importing this package imports neither torch nor numpy.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator

from torch_debugger._version import __version__

TYPE_CHECKING = False  # by its own name: under `python -m`, a typing.py of the user's would be imported here
if TYPE_CHECKING:
    from torch_debugger import memory, pictures
    from torch_debugger.anatomy.flops import flops
    from torch_debugger.anatomy.summing.counting import count_parameters
    from torch_debugger.anatomy.summing.summarizing import summary
    from torch_debugger.anomalies import AnomalyError, detect_anomaly, find_nan, set_detect_anomaly
    from torch_debugger.archive.run import Run
    from torch_debugger.archive.runs import runs
    from torch_debugger.breaking import break_on_shape, break_when
    from torch_debugger.comparisons import diff
    from torch_debugger.debugger import Debugger, watch
    from torch_debugger.doctoring import Checkup, doctor
    from torch_debugger.drawings.model_drawing import model_graph
    from torch_debugger.explanations import Explanation, explain
    from torch_debugger.inspections.activations import activations
    from torch_debugger.inspections.describing import describe
    from torch_debugger.inspections.gradient_check import check_gradients
    from torch_debugger.inspections.gradients import gradients
    from torch_debugger.inspections.graph import graph
    from torch_debugger.inspections.taps import tap
    from torch_debugger.integrations.explaining import explaining
    from torch_debugger.integrations.trackers.tracker import Tracker
    from torch_debugger.profile_block import profile
    from torch_debugger.rehearsing import RehearsedStep, rehearse
    from torch_debugger.reporting import write_report
    from torch_debugger.summaries.writer import SummaryWriter
    from torch_debugger.sync_block import syncs
    from torch_debugger.trials.gradcheck.first_order import gradcheck
    from torch_debugger.trials.gradcheck.second_order import gradgradcheck
    from torch_debugger.watchdog import Watchdog

_HOMES = {
    "flops": "torch_debugger.anatomy.flops",
    "Debugger": "torch_debugger.debugger",
    "watch": "torch_debugger.debugger",
    "AnomalyError": "torch_debugger.anomalies",
    "detect_anomaly": "torch_debugger.anomalies",
    "find_nan": "torch_debugger.anomalies",
    "set_detect_anomaly": "torch_debugger.anomalies",
    "Run": "torch_debugger.archive.run",
    "runs": "torch_debugger.archive.runs",
    "break_on_shape": "torch_debugger.breaking",
    "break_when": "torch_debugger.breaking",
    "diff": "torch_debugger.comparisons",
    "Checkup": "torch_debugger.doctoring",
    "doctor": "torch_debugger.doctoring",
    "model_graph": "torch_debugger.drawings.model_drawing",
    "Explanation": "torch_debugger.explanations",
    "explain": "torch_debugger.explanations",
    "explaining": "torch_debugger.integrations.explaining",
    "SummaryWriter": "torch_debugger.summaries.writer",
    "syncs": "torch_debugger.sync_block",
    "Tracker": "torch_debugger.integrations.trackers.tracker",
    "profile": "torch_debugger.profile_block",
    "RehearsedStep": "torch_debugger.rehearsing",
    "rehearse": "torch_debugger.rehearsing",
    "write_report": "torch_debugger.reporting",
    "activations": "torch_debugger.inspections.activations",
    "check_gradients": "torch_debugger.inspections.gradient_check",
    "describe": "torch_debugger.inspections.describing",
    "gradients": "torch_debugger.inspections.gradients",
    "graph": "torch_debugger.inspections.graph",
    "tap": "torch_debugger.inspections.taps",
    "count_parameters": "torch_debugger.anatomy.summing.counting",
    "summary": "torch_debugger.anatomy.summing.summarizing",
    "memory": "torch_debugger.memory",
    "pictures": "torch_debugger.pictures",
    "gradcheck": "torch_debugger.trials.gradcheck.first_order",
    "Watchdog": "torch_debugger.watchdog",
    "gradgradcheck": "torch_debugger.trials.gradcheck.second_order",
    "load_ipython_extension": "torch_debugger.integrations.ipython",  # %load_ext torch_debugger
    "unload_ipython_extension": "torch_debugger.integrations.ipython",
}
_OPEN_ROOMS = {"memory", "pictures"}  # used by their own name: torch_debugger.pictures.filters(...)

__all__ = [
    "AnomalyError", "Checkup", "Debugger", "Explanation", "RehearsedStep", "Run", "SummaryWriter",
    "Tracker", "Watchdog", "__version__", "activations", "break_on_shape", "break_when", "check_gradients",
    "count_parameters", "describe", "detect_anomaly", "diff", "doctor", "explain", "explaining", "find_nan",
    "flops", "gradcheck", "gradgradcheck", "gradients", "graph", "memory", "model_graph", "pictures", "profile",
    "rehearse", "runs", "set_detect_anomaly", "summary", "syncs", "tap", "watch", "write_report",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'torch_debugger' has no attribute {name!r}")
    with same_random_numbers():
        home = importlib.import_module(_HOMES[name])
    return home if name in _OPEN_ROOMS else getattr(home, name)


@contextlib.contextmanager
def same_random_numbers() -> Iterator[None]:
    """rich draws a number while it is imported, which the program's own draws must not notice."""
    random = sys.modules.get("random")
    state = random.getstate() if random is not None else None
    yield
    if random is not None:
        random.setstate(state)


def __dir__() -> list[str]:
    return sorted(__all__)
