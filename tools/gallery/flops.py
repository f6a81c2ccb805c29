"""What a forward and a backward cost, by module.

One multiply-accumulate counts as two operations; both are shown. What could not be counted is listed, so the
number is never silently too small.
"""

from __future__ import annotations

from typing import Any

import torch_debugger


def make(cnn: Any, some: Any) -> Any:
    return torch_debugger.flops(cnn, some, backward=True)
