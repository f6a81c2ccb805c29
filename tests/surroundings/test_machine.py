"""Processor, packages and variables: told from files, never more than asked for."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from pathlib import Path

import pytest

from torch_debugger.runner.environment import (
    describe_hardware,
    describe_system,
    file_of,
    gather_surroundings,
    list_packages,
    telling_variables,
)
from torch_debugger.system.secret_names import SECRET


def test_the_packages_are_those_that_the_interpreter_knows() -> None:
    told = list_packages()
    for name in ("torch", "numpy", "pytest", "typing-extensions"):
        assert told[name] == importlib.metadata.version(name)


def test_odd_entries_are_no_packages(tmp_path: Path) -> None:
    for name in ("a_b-1.0.dist-info", "Old-2.1-py3.10.egg-info", "nothing.dist-info", "x.py", "-1.dist-info"):
        (tmp_path / name).mkdir()
    assert list_packages([str(tmp_path), str(tmp_path / "missing"), "a.zip"]) == {"a-b": "1.0", "old": "2.1"}


def test_the_machine_is_described() -> None:
    hardware = describe_hardware()
    assert hardware["cpu"] and int(hardware["cores"]) > 0 and hardware["memory"].endswith("GiB")
    assert describe_system()["python"] == ".".join(map(str, sys.version_info[:3]))


def test_only_telling_variables_are_kept() -> None:
    given = {
        "CUDA_VISIBLE_DEVICES": "0,1", "OMP_NUM_THREADS": "4", "PYTORCH_ALLOC_CONF": "x", "TORCH_LOGS": "x",
        "NCCL_DEBUG": "INFO", "RANK": "3", "WORLD_SIZE": "8", "HOME": "/home/me", "WANDB_API_KEY": "abc",
        "PATH": "/bin", "AWS_SECRET_ACCESS_KEY": "abc", "TORCH_HUB_TOKEN": "abc", "RANKING": "no",
    }  # fmt: skip
    told = telling_variables(given)
    assert told.pop("TORCH_HUB_TOKEN") == SECRET
    assert sorted(told) == [
        "CUDA_VISIBLE_DEVICES", "NCCL_DEBUG", "OMP_NUM_THREADS", "PYTORCH_ALLOC_CONF", "RANK", "TORCH_LOGS",
        "WORLD_SIZE",
    ]  # fmt: skip


def test_everything_around_a_script_is_one_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "train.py"
    script.write_text("api_key = 'hunter2'\nlr = 0.1\n")
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "4")
    told = gather_surroundings(["python", str(script), "--token", "hunter2"], str(script))
    assert told.command == ("python", str(script), "--token", SECRET)
    assert told.source == f"api_key = '{SECRET}'\nlr = 0.1\n"
    assert len(told.script_hash) == 64 and (told.rank, told.world_size) == (2, 4)
    assert "hunter2" not in repr(told)


def test_a_long_script_is_told_by_its_hash_alone(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("x = 1\n" * 100_000)
    told = gather_surroundings([], str(script))
    assert told.script_hash and told.source == ""


def test_what_comes_through_a_pipe_is_left_to_the_script(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert gather_surroundings([], str(pipe)).script_hash == ""


def test_a_module_is_found_without_importing_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "package" / "inner").mkdir(parents=True)
    for name in ("__init__.py", "train.py", "inner/__main__.py"):
        (tmp_path / "package" / name).write_text("raise AssertionError('imported')\n")
    monkeypatch.chdir(tmp_path)
    assert file_of("package.train", module=True) == str(tmp_path / "package" / "train.py")
    assert file_of("package.inner", module=True) == str(tmp_path / "package" / "inner" / "__main__.py")
    assert file_of("no.such", module=True) == "no.such"
    assert file_of("train.py", module=False) == "train.py"


def test_gathering_starts_neither_torch_nor_numpy() -> None:
    code = (
        "import sys; from torch_debugger.runner.environment import gather_surroundings as g;"
        "g([], ''); print({'torch', 'numpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
