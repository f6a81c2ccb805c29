"""Disks that fill up and scripts that pull the rug away: the training ends as under plain python, and we say
at most one sentence about it."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.promises.running import DEBUGGER, PLAIN, Run, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="small file systems and /proc are Linux's")

TRAINING = """
    import os, sys, time
    {before}
    import torch
    torch.set_num_threads(1)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(10, 20), torch.nn.ReLU(), torch.nn.Linear(20, 1))
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range({steps}):
        x = torch.randn(16, 10)
        loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step == {steps} // 2:
            {middle}
    {after}
    print([parameter.sum().item() for parameter in net.parameters()])
    sys.exit(5)
"""


def training(before: str = "", middle: str = "pass", after: str = "", steps: int = 60) -> str:
    text = textwrap.dedent(TRAINING)
    for name, part in (("before", before), ("middle", middle), ("after", after)):
        indent = " " * 8 if name == "middle" else ""
        text = text.replace(f"{{{name}}}", textwrap.indent(textwrap.dedent(part), indent).strip())
    return text.replace("{steps}", str(steps))


PAUSE = "\ntime.sleep(1.2)  # longer than the log waits between two writes\n"
CLOSES_EVERYTHING = """
os.closerange(3, 256)
below = [os.open(os.devnull, os.O_RDONLY) for _ in range(3, 200)]
with open("numbers.txt", "w") as file:
    file.write("1\\n" * 1000)
written = [open(f"own{number}.txt", "w+") for number in range(6)]  # these get the numbers of our files
read = [open("numbers.txt") for _ in range(6)]
"""
READS_BACK = """
for file in written:
    file.write("mine")
    file.seek(0)
print([file.read() for file in written], [len(file.readlines()) for file in read])
written[0].write("kept to the end")
"""
COUNTS_BACKWARDS = """
backward, calls = torch.autograd.backward, []
def counted(*arguments, **keywords):
    calls.append(len(arguments))
    return backward(*arguments, **keywords)
torch.autograd.backward = counted
"""
COUNTS_STEPS = """
original, calls = torch.optim.SGD.step, []
def counted(optimizer, *arguments, **keywords):
    calls.append(len(arguments))
    return original(optimizer, *arguments, **keywords)
torch.optim.SGD.step = counted
"""
REPLACES_THE_STREAMS = """
import io
real, sys.stdout, sys.stderr = sys.stdout, io.StringIO(), io.StringIO()
sys.__stderr__ = sys.__stdout__ = None
"""
REPLACES_FUNCTIONS = """
import builtins, json, time, torch
replaced = [(time, "time"), (time, "monotonic"), (time, "perf_counter"), (json, "dumps"), (builtins, "open"),
            (torch.Tensor, "item")]
originals = [getattr(owner, name) for owner, name in replaced]
calls = []
def own(*arguments, **keywords):
    calls.append(arguments)
    raise SystemExit("not for you")
for owner, name in replaced:
    setattr(owner, name, own)
"""
PUTS_THEM_BACK = """
for (owner, name), original in zip(replaced, originals):
    setattr(owner, name, original)
print(len(calls))
"""
IMPORT_FAILS = """
import sys
for _ in range(2):
    try:
        import torch
    except ImportError as error:
        print(repr(error))
print("torch" in sys.modules, sys.meta_path[-1])
import torch
"""

SCRIPTS = {
    "plain": training(),
    "closes all descriptors": training(middle=CLOSES_EVERYTHING + PAUSE, after=READS_BACK),
    "closes stderr": training(before="os.close(2)"),
    "closes stdin and stderr later": training(middle="os.close(2); os.close(0)" + PAUSE),
    "replaces the streams": training(middle=REPLACES_THE_STREAMS, after="print(1); sys.stdout = real"),
    "patches backward over us": training(middle=COUNTS_BACKWARDS, after="print(calls, backward.__name__)"),
    "patches the step over us": training(middle=COUNTS_STEPS, after="print(calls, original.__name__)"),
    "replaces functions": training(before=REPLACES_FUNCTIONS, after=PUTS_THEM_BACK),
    "goes elsewhere": training(before="os.chdir('/')", after="print(os.getcwd())"),
    "deletes its folder": training(middle="import shutil; shutil.rmtree(os.getcwd())" + PAUSE),
    "has no torch": IMPORT_FAILS,
}  # fmt: skip
SAID = {"closes all descriptors": "ends early: the script closed its file. The training goes on without it."}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_hostile_script_runs_as_under_python(name: str, tmp_path: Path) -> None:
    """One after the other in the same folder: some scripts print where they are."""
    folder, log = tmp_path / "project", tmp_path / "log"
    no_torch = name == "has no torch"
    # A fork has torch, and does not flush at its end what the script leaves open.
    real = (no_torch, no_torch or name == "closes all descriptors")
    runs: list[Run] = []
    hows = (PLAIN, (*DEBUGGER, "--quiet", "--log-dir", str(log)))
    for how, really in zip(hows, real, strict=True):
        folder.mkdir(exist_ok=True)
        folder.joinpath("train.py").write_text(SCRIPTS[name])
        if no_torch:
            folder.joinpath("torch.py").write_text("raise ImportError('libsomething.so: no such file')")
        runs.append(run([*how, "train.py"], folder, real=really))
    plain, watched = runs
    assert plain.code == (1 if no_torch else 5), plain.stderr
    assert watched.stdout == plain.stdout
    assert watched.code == plain.code
    ours = [line for line in watched.stderr.splitlines() if line not in plain.stderr.splitlines()]
    assert len(ours) == (name in SAID), ours
    assert all(line.startswith("torch-debugger: ") and line.endswith(SAID[name]) for line in ours)
    if name == "closes all descriptors":
        written_after = folder.joinpath("own0.txt").read_text()
        assert written_after == "minekept to the end"


# Several threads

TRAINS_IN_THREADS = """
    import sys, threading, torch
    from concurrent.futures import ThreadPoolExecutor
    torch.set_num_threads(1)
    torch.manual_seed(0)
    starting = threading.Barrier(2)
    def train(seed, steps=60):
        numbers = torch.Generator().manual_seed(seed)
        net = torch.nn.Sequential(torch.nn.Linear(10, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
        with torch.no_grad():
            for parameter in net.parameters():
                parameter.copy_(torch.randn(parameter.shape, generator=numbers) * 0.1)
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
        for step in range(steps):
            x = torch.randn(16, 10, generator=numbers)
            loss = (net(x) - x.sum(1, keepdim=True)).pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return [parameter.sum().item() for parameter in net.parameters()]
    def train_with_another(seed):
        starting.wait()
        return train(seed)
    results = {}
    threads = [threading.Thread(target=lambda n=n: results.update({n: train_with_another(n)})) for n in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with ThreadPoolExecutor(2) as pool:
        print(list(pool.map(train_with_another, range(4))))
    print(sorted(results.items()), train(7))
    sys.exit(5)
"""


def test_a_script_that_trains_in_several_threads(tmp_path: Path) -> None:
    script, told = tmp_path / "train.py", tmp_path / "told.json"
    script.write_text(textwrap.dedent(TRAINS_IN_THREADS))
    plain = run([*PLAIN, str(script)])
    watched = run([*DEBUGGER, "--quiet", "--no-log", "--json", str(told), str(script)])
    assert (plain.code, plain.stderr) == (5, "")
    assert watched == plain
    notice = "several threads train at the same time: from here on the training is not looked at."
    assert json.loads(told.read_text())["notices"] == [notice]


# The log's disk


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], capture_output=True, check=False
    )
    if done.returncode:
        pytest.skip("only root may mount a small disk; the limit on a file's size is tested in any case")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


AT_EVERY_STEP = ("--budget", "1000%")  # also on a busy machine, so that the log outgrows its place
LONG = training(steps=100)


@functools.cache
def _plain(source: str) -> Run:
    return run([*PLAIN, "-c", source])


def _ends_as_plain(project: Path, watched: Run) -> list[str]:
    """The sentences of ours."""
    plain = _plain(project.joinpath("train.py").read_text())
    assert (watched.code, watched.stdout) == (plain.code, plain.stdout) and plain.code == 5
    assert not plain.stderr
    return watched.stderr.splitlines()


def test_a_disk_that_fills_up(project: Path, small_disk: Path) -> None:
    project.joinpath("train.py").write_text(LONG)
    small_disk.joinpath("others").write_bytes(bytes(32 * 1024))
    said = _ends_as_plain(project, _watched_onto(small_disk, project))
    assert said and {*said} <= _full(small_disk)
    assert _written(small_disk)


def test_a_disk_that_is_full_from_the_start(project: Path, small_disk: Path) -> None:
    project.joinpath("train.py").write_text(LONG)
    small_disk.joinpath("others").write_bytes(bytes(64 * 1024))
    assert _ends_as_plain(project, _watched_onto(small_disk, project)) == [_no_space(small_disk)]
    assert not _written(small_disk)


def _watched_onto(disk: Path, project: Path) -> Run:
    return run([*DEBUGGER, "--quiet", *AT_EVERY_STEP, "--log-dir", str(disk / "log"), "train.py"], project)


def _written(disk: Path) -> int:
    return sum(file.stat().st_size for file in disk.glob("log/*tfevents*"))


def _full(disk: Path) -> set[str]:
    """Which comes first, or alone, depends on how the pieces that are written fit into the last pages."""
    keeps = "The log keeps no more curves, statistics and pictures"
    margin = f"torch-debugger: {keeps}: the disk has only 0 MB left, which are for the training."
    return {_no_space(disk), margin}


def _no_space(disk: Path) -> str:
    why = "No space left on device. The training goes on without it."
    return f"torch-debugger: The run log in {disk / 'log'} ends early: {why}"


def test_a_file_that_may_not_grow_any_more(project: Path) -> None:
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, resource.RLIM_INFINITY))"
    project.joinpath("train.py").write_text(training(before=limit, steps=100))
    assert _ends_as_plain(project, _watched_onto(project, project)) == [
        f"torch-debugger: The run log in {project / 'log'} ends early: File too large. The training goes on without it."
    ]


def test_a_log_that_is_deleted_in_the_middle(project: Path) -> None:
    log = project / "log"
    remove = f"import shutil; shutil.rmtree({str(log)!r}, ignore_errors=True)"
    project.joinpath("train.py").write_text(training(middle=remove + PAUSE))
    watched = run([*DEBUGGER, "--quiet", "--log-dir", str(log), "train.py"], project)
    said = f"torch-debugger: The run log in {log} was deleted during the run; none of it will be left."
    assert _ends_as_plain(project, watched) == [said]
    assert not log.exists()


def test_the_verdict_is_told_although_the_disk_is_full(project: Path, small_disk: Path) -> None:
    project.joinpath("train.py").write_text(training(steps=300).replace("optimizer.zero_grad()", "pass"))
    watched = _watched_onto(small_disk, project)
    assert _full(small_disk) & {*watched.stderr.splitlines()}
    assert "missing-zero-grad" in watched.stderr
    assert _written(small_disk)
