"""torch-debugger profile --read: traces as tables, as JSON, and two of them side by side."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.cli.conftest import debugger
from tests.profiling.nccl_traces import write_rank
from tests.profiling.test_traces import STEP
from tests.profiling.test_traces import write as write_trace


def test_ranks_of_a_folder_side_by_side(tmp_path: Path) -> None:
    write_rank(tmp_path / "host_1.pt.trace.json", 0)
    write_rank(tmp_path / "host_2.pt.trace.json", 1, reduce_us=450)
    write_rank(tmp_path / "host_3.pt.trace.json", 0, world_size=4)  # of another training, and older
    for place, name in enumerate(("host_3", "host_1", "host_2")):
        os.utime(tmp_path / f"{name}.pt.trace.json", (1000 + place, 1000 + place))
    done = debugger("profile", "--read", str(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    ranks = lines[lines.index("ranks, a step") + 2 :][:2]
    assert ranks[0].split() == [
        "0", "(NVIDIA", "A100)", "1", "ms", "300", "us", "30", "%", "100", "us", "10", "%",
        "100", "us", "10", "%", "500", "us", "50", "%",
    ]  # fmt: skip
    assert ranks[1].startswith("  1 (NVIDIA A100)")
    assert "kernels, a step" in lines and "a step, by what it was spent on" in lines
    assert "3 traces; this is the newest" in done.stderr and "host_2" in done.stderr


def test_json_of_a_trace(tmp_path: Path) -> None:
    file = write_rank(tmp_path / "rank0.pt.trace.json")
    printed = debugger("profile", "--read", file, "--json", "-")
    late = debugger("profile", file, "--json", "out.json")
    assert late.returncode == 2 and "options come first" in late.stderr, "a trace of JSON would run as Python"
    written = debugger("profile", "--json", str(tmp_path / "out.json"), file)
    assert printed.returncode == written.returncode == 0, printed.stderr + written.stderr
    answer = json.loads(printed.stdout)
    kept = json.loads((tmp_path / "out.json").read_text())
    assert answer["format"] == 1 and abs(answer["step_s"] - 1e-3) < 1e-12
    assert {each["name"] for each in answer["ops"]} == {each["name"] for each in kept["ops"]}
    assert [each["name"] for each in answer["findings"]] == ["optimizer-not-fused"]
    assert written.stdout.startswith("Where the time went: 2 steps from step 4 on, 1 ms each.")


def test_two_traces_side_by_side(tmp_path: Path) -> None:
    before = write_rank(tmp_path / "before.pt.trace.json", reduce_us=200)
    after = write_rank(tmp_path / "after.pt.trace.json", reduce_us=230)
    by_option = debugger("profile", "--read", before, "--compare", after)
    by_words = debugger("profile", before, after)
    assert by_option.returncode == 0, by_option.stderr
    assert by_option.stdout == by_words.stdout
    assert by_option.stdout.startswith("A step takes 1 ms in the second trace and 1 ms in the first: as long.")
    assert "communication  100 us  130 us  +30 us" in by_option.stdout
    answer = json.loads(debugger("profile", "--read", before, "--compare", after, "--json", "-").stdout)
    assert answer["kernels"][0]["name"].startswith("ncclDevKernel")


def test_what_cannot_be_compared_is_said(tmp_path: Path) -> None:
    file = write_trace(tmp_path / "x.pt.trace.json", STEP)
    (tmp_path / "torn.pt.trace.json").write_text("epoch,loss")
    for words, sentence in (
        (["--compare", file], "name the first one with --read"),
        (["--read", file, "--compare", str(tmp_path / "torn.pt.trace.json")], "is no JSON. Expected is a trace of"),
        (["--read", file, file, file], "Of 3 traces no difference can be shown: name two."),
    ):
        done = debugger("profile", *words)
        assert done.returncode == 2 and sentence in done.stderr, (words, done.stderr)
