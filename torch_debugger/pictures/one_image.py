"""One image where a batch was expected: the exception it leads to, explained."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from torch_debugger.errors import UsageError
from torch_debugger.pictures.runs_of_models import Inputs


@contextlib.contextmanager
def one_image_explained(inputs: Inputs) -> Iterator[None]:
    """A model that takes single images is left alone: only where it raises, that is the likely reason."""
    try:
        yield
    except (RuntimeError, ValueError, IndexError) as error:
        if isinstance(inputs, torch.Tensor) and inputs.dim() == 3 and inputs.shape[0] in (1, 3):
            raise UsageError(
                f"the model failed on an input of shape {list(inputs.shape)}, which looks like one image: "
                "give a batch, `image[None]`."
            ) from error
        raise
