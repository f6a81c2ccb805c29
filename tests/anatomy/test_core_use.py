"""How many cores there are for this process: a container may allow fewer than the machine has."""

from __future__ import annotations

import pytest

from torch_debugger.stats import resources as core_use


@pytest.mark.parametrize(
    ("files", "cores"),
    [
        ({}, 8),
        ({"/sys/fs/cgroup/cpu.max": "max 100000\n"}, 8),
        ({"/sys/fs/cgroup/cpu.max": "150000 100000\n"}, 2),
        ({"/sys/fs/cgroup/cpu.max": "50000 100000\n"}, 1),
        ({"/sys/fs/cgroup/cpu.max": "9900000 100000\n"}, 8),
        (
            {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n"},
            8,
        ),
        (
            {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us": "300000", "/sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000"},
            3,
        ),
    ],
)
def test_usable_cores(files: dict[str, str], cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core_use, "kernel_text", lambda path: files.get(path, ""))
    monkeypatch.setattr(core_use.os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    assert core_use.usable_cores() == cores
