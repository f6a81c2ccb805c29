"""Crashes near process groups, spawned processes and compilers; what NCCL says of GPUs, tried without one."""

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


OURS = {"process-group-setup", "ddp-unused-parameters", "ranks-disagree", "spawned-process-failed", "compile-error"}
GROUP = """
import tempfile
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
dist.init_process_group("gloo", init_method="file://" + tempfile.mkdtemp() + "/store", rank=0, world_size=1)
"""
LOOKALIKES = {
    "the user's own word about a port": "raise RuntimeError('port: 29500, name: EADDRINUSE')\n",
    "a port of the user's own server": """
import socket
first, second = socket.socket(), socket.socket()
first.bind(("127.0.0.1", 0))
first.listen()
second.bind(first.getsockname())
""",
    "a variable that torchrun does not set": "import os\nos.environ['DATA_FOLDER_OF_MINE']\n",
    "a rank in the user's own dictionary": "config = {'WORLD_SIZE': 1}\nconfig['RANK']\n",
    "the user's own KeyError": "raise KeyError('LOCAL_RANK')\n",
    "the user's own word about a group": """
raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
""",
    "a rank that is no number": """
import os
import torch.distributed as dist
os.environ.update(RANK="zero", WORLD_SIZE="1", MASTER_ADDR="127.0.0.1", MASTER_PORT="29500")
dist.init_process_group("gloo")
""",
    "a shape error under DDP": GROUP + "DDP(nn.Linear(4, 2))(torch.randn(3, 5))\n",
    "an attribute behind DDP": GROUP + "DDP(nn.Linear(4, 2)).in_featurs\n",
    "a backward twice under DDP": GROUP + """
loss = DDP(nn.Linear(4, 2))(torch.randn(3, 4)).pow(2).sum()
loss.backward()
loss.backward()
""",
    "the user's own check of gradients": """
net = nn.Linear(4, 2)
raise RuntimeError("Expected to have finished reduction in the prior iteration before starting a new one. "
                   "Parameter indices which did not receive grad for rank 0: 0 1")
""",
    "the user's own comparison of models": """
message = "[1]: params[0] in this process with sizes [3, 4] appears not to match sizes of the same param"
raise RuntimeError(message)
""",
    "a connection of the user's own": "raise RuntimeError('Connection closed by peer [127.0.0.1]:1')\n",
    "the user's own word about a process": """
class ProcessRaisedException(Exception):
    pass
raise ProcessRaisedException("-- Process 0 terminated with the following error:")
""",
    "the user's own error in a compiled function": """
@torch.compile(backend="eager")
def step(x):
    raise ValueError("cannot be compiled into one graph")
step(torch.ones(2))
""",
    "an attribute that a compiled model lacks": """
class Net(nn.Module):
    def forward(self, x):
        return self.fc(x)
torch.compile(Net(), backend="eager")(torch.ones(2))
""",
    "a wrong argument of a compiled function": """
@torch.compile(backend="eager")
def step(x):
    return x * 2
step(torch.ones(2), 3)
""",
    "a compiled product that does not fit": """
@torch.compile(backend="eager", fullgraph=True)
def step(x, w):
    return x @ w
step(torch.ones(2, 3), torch.ones(4, 2))
""",
    "the user's own mark in a message": "raise RuntimeError('File \"net.py\", line 3\\n    x = 1 <--- HERE')\n",
    "an error while a trace runs the model": """
class Net(nn.Module):
    def forward(self, x):
        return x.view(7)
torch.jit.trace(Net(), torch.ones(6))
""",
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKALIKES)
def test_nothing_is_said(name: str, tmp_path: Path) -> None:
    assert not OURS & set(claims(crash_of(tmp_path / "net.py", HEAD + LOOKALIKES[name].lstrip("\n"))))
