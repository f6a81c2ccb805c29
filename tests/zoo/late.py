"""The runner with a stand-in for a device: all numbers of the run arrive steps later.

python -m tests.zoo.late RESULTS SCRIPT...
"""

from __future__ import annotations

import runpy

import torch_debugger.probes.watch
from tests.probes.test_lagging import LateTransfer

if __name__ == "__main__":
    torch_debugger.probes.watch.Transfer = LateTransfer  # type: ignore[misc]
    runpy.run_module("tests.zoo.runner", run_name="__main__", alter_sys=False)
