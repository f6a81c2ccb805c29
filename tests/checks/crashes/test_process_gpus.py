"""What NCCL says of GPUs that are not there, or are taken twice, tried without one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.checks.crashes.scripts import HEAD, claims, crash_of, judge
from torch_debugger.records import CrashFact, Finding
from torch_debugger.records.crash_loading import GroupEvidence

SETUP = """
import torch.distributed as dist
dist.init_process_group("no such backend")
"""
NONE = "ProcessGroupNCCL is only supported with GPUs, no GPUs found!"
TWICE = """NCCL error in: ProcessGroupNCCL.cpp:77, invalid usage (run with NCCL_DEBUG=WARN for details)
ncclInvalidUsage: This usually reflects invalid usage of NCCL library.
Last error:
Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000"""


def crash(tmp_path: Path, message: str, **group: Any) -> CrashFact:
    """A crash inside of torch.distributed, as it would have been with NCCL."""
    real = crash_of(tmp_path / "train.py", HEAD + SETUP)
    assert real.evidence.processes is not None and not real.frames[-1].user
    processes = replace(real.evidence.processes, group=GroupEvidence(**group))
    return replace(real, message=message, evidence=replace(real.evidence, processes=processes))


def finding_of(tmp_path: Path, message: str, **group: Any) -> Finding:
    found = judge(crash(tmp_path, message, **group))[0]
    assert found.name == "process-group-setup"
    return found


def test_no_gpu(tmp_path: Path) -> None:
    found = finding_of(tmp_path, NONE, gpus=0, built=("gloo", "nccl"))
    assert found.message == (
        "init_process_group at train.py:7 asks for the backend `nccl`, and this process sees no GPU."
    )
    assert found.fix == (
        'Choose the backend by what is there: `"nccl" if torch.cuda.is_available() else "gloo"`. If there is a '
        "GPU, look at `nvidia-smi`."
    )


def test_gpus_that_are_hidden(tmp_path: Path) -> None:
    found = finding_of(tmp_path, NONE, gpus=0, hides_gpus="")
    assert 'CUDA_VISIBLE_DEVICES is "" here' in found.why and "unset CUDA_VISIBLE_DEVICES" in found.fix


def test_more_processes_than_gpus(tmp_path: Path) -> None:
    environment = {"RANK": "1", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    found = finding_of(tmp_path, TWICE, gpus=1, current_gpu=0, environment=environment)
    assert found.message == (
        "Ranks 0 and 1 both use GPU 0 of one machine, as NCCL found at train.py:7: 2 processes share 1 GPU."
    )
    assert "`torchrun --nproc-per-node=1 train.py`" in found.fix


def test_every_process_on_the_first_gpu(tmp_path: Path) -> None:
    environment = {"RANK": "1", "LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2"}
    found = finding_of(tmp_path, TWICE, gpus=8, current_gpu=0, environment=environment)
    assert found.message == "Ranks 0 and 1 both use GPU 0 of one machine, as NCCL found at train.py:7."
    assert "Until set_device is called every process works on GPU 0." in found.why
    assert found.fix.startswith('Call `torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))` in every process')


@pytest.mark.parametrize("message", [NONE, TWICE])
def test_the_users_own_words_are_not_ours(tmp_path: Path, message: str) -> None:
    assert "process-group-setup" not in claims(crash_of(tmp_path / "own.py", f"raise RuntimeError({message!r})\n"))
