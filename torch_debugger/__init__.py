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
    from torch_debugger.api import diff, write_report
    from torch_debugger.integrations.tracker import Tracker
    from torch_debugger.log.run import Run
    from torch_debugger.log.runs import runs
    from torch_debugger.model.flops import flops
    from torch_debugger.model.parameter_counts import count_parameters
    from torch_debugger.model.summary import summary
    from torch_debugger.pictures.autograd_graph import graph
    from torch_debugger.pictures.layer_values import activations, describe, gradients, tap
    from torch_debugger.pictures.missing_gradients import check_gradients
    from torch_debugger.pictures.model_graph import model_graph
    from torch_debugger.probes.breakpoints import break_on_shape, break_when
    from torch_debugger.runner.anomalies import AnomalyError, detect_anomaly, find_nan, set_detect_anomaly
    from torch_debugger.runner.debugger import Debugger, watch
    from torch_debugger.runner.exceptions import explaining
    from torch_debugger.runner.explanations import Explanation, explain
    from torch_debugger.runner.preflight import Checkup, RehearsedStep, doctor, rehearse
    from torch_debugger.runner.profile_blocks import profile, syncs
    from torch_debugger.runner.watchdog import Watchdog
    from torch_debugger.summaries.writer import SummaryWriter
    from torch_debugger.trials.gradcheck import gradcheck, gradgradcheck

_HOMES = {
    "flops": "torch_debugger.model.flops",
    "Debugger": "torch_debugger.runner.debugger",
    "watch": "torch_debugger.runner.debugger",
    "AnomalyError": "torch_debugger.runner.anomalies",
    "detect_anomaly": "torch_debugger.runner.anomalies",
    "find_nan": "torch_debugger.runner.anomalies",
    "set_detect_anomaly": "torch_debugger.runner.anomalies",
    "Run": "torch_debugger.log.run",
    "runs": "torch_debugger.log.runs",
    "break_on_shape": "torch_debugger.probes.breakpoints",
    "break_when": "torch_debugger.probes.breakpoints",
    "diff": "torch_debugger.api",
    "Checkup": "torch_debugger.runner.preflight",
    "doctor": "torch_debugger.runner.preflight",
    "model_graph": "torch_debugger.pictures.model_graph",
    "Explanation": "torch_debugger.runner.explanations",
    "explain": "torch_debugger.runner.explanations",
    "explaining": "torch_debugger.runner.exceptions",
    "SummaryWriter": "torch_debugger.summaries.writer",
    "syncs": "torch_debugger.runner.profile_blocks",
    "Tracker": "torch_debugger.integrations.tracker",
    "profile": "torch_debugger.runner.profile_blocks",
    "RehearsedStep": "torch_debugger.runner.preflight",
    "rehearse": "torch_debugger.runner.preflight",
    "write_report": "torch_debugger.api",
    "activations": "torch_debugger.pictures.layer_values",
    "check_gradients": "torch_debugger.pictures.missing_gradients",
    "describe": "torch_debugger.pictures.layer_values",
    "gradients": "torch_debugger.pictures.layer_values",
    "graph": "torch_debugger.pictures.autograd_graph",
    "tap": "torch_debugger.pictures.layer_values",
    "count_parameters": "torch_debugger.model.parameter_counts",
    "summary": "torch_debugger.model.summary",
    "memory": "torch_debugger.memory",
    "pictures": "torch_debugger.pictures",
    "gradcheck": "torch_debugger.trials.gradcheck",
    "Watchdog": "torch_debugger.runner.watchdog",
    "gradgradcheck": "torch_debugger.trials.gradcheck",
    "load_ipython_extension": "torch_debugger.runner.explanations",  # %load_ext torch_debugger
    "unload_ipython_extension": "torch_debugger.runner.explanations",
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
