"""Scripts that set up process groups leave none behind, and no variable of theirs."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest
import torch.distributed

VARIABLES = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@pytest.fixture(autouse=True)
def no_process_group_stays() -> Iterator[None]:
    kept = {name: os.environ.pop(name) for name in VARIABLES if name in os.environ}
    yield
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
    for name in VARIABLES:
        os.environ.pop(name, None)
    os.environ.update(kept)
