"""Disks that fill up and scripts that pull the rug away: the training ends as under plain python, and we say
at most one sentence about it."""

from __future__ import annotations

import functools
import os
import resource
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.promises.running import AT_ONCE, DEBUGGER, PLAIN, Run, run

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
            time.sleep(1.2)  # longer than the log waits between two writes
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


CLOSES_EVERYTHING = """
os.closerange(3, 256)
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
    "closes all descriptors": training(middle=CLOSES_EVERYTHING, after=READS_BACK),
    "closes stderr": training(before="os.close(2)"),
    "closes stdin and stderr later": training(middle="os.close(2); os.close(0)"),
    "replaces the streams": training(middle=REPLACES_THE_STREAMS, after="print(1); sys.stdout = real"),
    "patches backward over us": training(middle=COUNTS_BACKWARDS, after="print(calls, backward.__name__)"),
    "patches the step over us": training(middle=COUNTS_STEPS, after="print(calls, original.__name__)"),
    "goes elsewhere": training(before="os.chdir('/')", after="print(os.getcwd())"),
    "deletes its folder": training(middle="import shutil; shutil.rmtree(os.getcwd())"),
    "has no torch": IMPORT_FAILS,
}  # fmt: skip
SAID = {"closes all descriptors": "ends early: the script closed its file. The training goes on without it."}


@dataclass(frozen=True)
class Both:
    plain: Run
    watched: Run
    folder: Path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[Both]]]:
    with ThreadPoolExecutor(AT_ONCE) as pool:
        yield {name: pool.submit(_run_both, source, tmp_path_factory) for name, source in SCRIPTS.items()}


def _run_both(source: str, folders: pytest.TempPathFactory) -> Both:
    """One after the other in the same folder: some scripts print where they are."""
    folder, log = folders.mktemp("project"), folders.mktemp("log")
    results = []
    for how in (PLAIN, (*DEBUGGER, "--quiet", "--log-dir", str(log))):
        folder.mkdir(exist_ok=True)
        folder.joinpath("train.py").write_text(source)
        if source is IMPORT_FAILS:
            folder.joinpath("torch.py").write_text("raise ImportError('libsomething.so: no such file')")
        results.append(run([*how, "train.py"], folder))
    return Both(*results, folder)


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_hostile_script_runs_as_under_python(name: str, runs: dict[str, Future[Both]]) -> None:
    both = runs[name].result()
    assert both.plain.code == (1 if name == "has no torch" else 5), both.plain.stderr
    assert both.watched.stdout == both.plain.stdout
    assert both.watched.code == both.plain.code
    ours = [line for line in both.watched.stderr.splitlines() if line not in both.plain.stderr.splitlines()]
    assert len(ours) == (name in SAID), ours
    assert all(line.startswith("torch-debugger: ") and line.endswith(SAID[name]) for line in ours)


def test_what_was_written_after_the_descriptors_were_closed_is_whole(runs: dict[str, Future[Both]]) -> None:
    both = runs["closes all descriptors"].result()
    assert both.folder.joinpath("own0.txt").read_text() == "minekept to the end"


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


LONG = training(steps=400)


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
    # On a busy machine there are fewer looks and the log is shorter: leave it half of the disk.
    small_disk.joinpath("others").write_bytes(bytes(32 * 1024))
    assert _ends_as_plain(project, _watched_onto(small_disk, project)) == [_no_space(small_disk)]


def test_a_disk_that_is_full_from_the_start(project: Path, small_disk: Path) -> None:
    project.joinpath("train.py").write_text(LONG)
    small_disk.joinpath("others").write_bytes(bytes(64 * 1024))
    assert _ends_as_plain(project, _watched_onto(small_disk, project)) == [_no_space(small_disk)]


def _watched_onto(disk: Path, project: Path) -> Run:
    return run([*DEBUGGER, "--quiet", "--log-dir", str(disk / "log"), "train.py"], project)


def _no_space(disk: Path) -> str:
    why = "No space left on device. The training goes on without it."
    return f"torch-debugger: The run log in {disk / 'log'} ends early: {why}"


def test_a_file_that_may_not_grow_any_more(project: Path) -> None:
    project.joinpath("train.py").write_text(LONG)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, before[1]))
    try:
        watched = run([*DEBUGGER, "--quiet", "--log-dir", str(project / "log"), "train.py"], project)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert _ends_as_plain(project, watched) == [
        f"torch-debugger: The run log in {project / 'log'} ends early: File too large. "
        "The training goes on without it."
    ]


def test_a_log_that_is_deleted_in_the_middle(project: Path) -> None:
    log = project / "log"
    remove = f"import shutil; shutil.rmtree({str(log)!r}, ignore_errors=True)"
    project.joinpath("train.py").write_text(training(middle=remove))
    watched = run([*DEBUGGER, "--quiet", "--log-dir", str(log), "train.py"], project)
    said = f"torch-debugger: The run log in {log} was deleted during the run; none of it will be left."
    assert _ends_as_plain(project, watched) == [said]
    assert not log.exists()


def test_the_verdict_is_told_although_the_disk_is_full(project: Path, small_disk: Path) -> None:
    project.joinpath("train.py").write_text(training(steps=400).replace("optimizer.zero_grad()", "pass"))
    log = small_disk / "log"
    watched = run([*DEBUGGER, "--quiet", "--log-dir", str(log), "train.py"], project)
    assert "missing-zero-grad" in watched.stderr
    assert os.path.getsize(next(log.glob("*tfevents*"))) > 0
