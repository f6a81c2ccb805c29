"""Saliency, averaged over noisy copies of the image.

Read it like saliency; what survives the noise is what the model holds on to. More `samples` make it smoother
and slower.
"""

from __future__ import annotations

from typing import Any

from torch_debugger import pictures


def make(cnn: Any, some: Any, names: Any) -> Any:
    return pictures.smoothgrad(cnn, some[2:6], labels=names)
