"""The questions that the page asks of traces."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.profiling.nccl_traces import write_rank
from tests.viewer.serving import Client, make_run, serving
from torch_debugger.cli.traces import TraceRuns
from torch_debugger.viewer.shown_runs import TraceBook


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    folder = tmp_path_factory.mktemp("traces")
    files = [write_rank(folder / f"r{rank}.pt.trace.json", rank, 200 + 50 * rank) for rank in (0, 1)]
    traces = TraceRuns(files)
    make_run(folder / "runs" / "one")
    with serving({**traces.folders, "": str(folder / "runs")}, traces=traces.book) as client:
        yield client
    traces.close()


def test_traces_and_runs_are_shown_by_one_page(client: Client) -> None:
    listed = client.get("/ask/traces").json["traces"]
    assert [(each["name"], each["ready"], each["rank"]) for each in listed] == [
        ("r0", True, 0),
        ("r1", True, 1),
    ]
    assert client.get("/ask/session").json["traces"] == 2
    assert set(client.get("/ask/names").json["runs"]) == {"one", "traces/r0", "traces/r1"}
    assert client.get("/ask/about?run=one").json["has"]["profile"] is True


def test_a_page_without_traces_has_no_such_view(tmp_path: Path) -> None:
    make_run(tmp_path / "one")
    with serving(tmp_path) as client:
        assert client.get("/ask/about?run=one").json["has"]["profile"] is False
        assert client.get("/ask/traces").json == {"traces": []}


def test_each_part_of_a_trace(client: Client) -> None:
    overview = client.get("/ask/trace?trace=r0").json
    assert overview["parts"]["communication"] == pytest.approx(100e-6)
    assert [each["name"] for each in overview["findings"]] == ["optimizer-not-fused"]
    assert overview["device"]["name"] == "NVIDIA A100"
    parts = {part: client.get(f"/ask/trace?trace=r0&part={part}").json for part in ("operators", "kernels", "memory")}
    assert parts["operators"]["by_shape"] and parts["operators"]["on_device"]
    assert len(parts["kernels"]["kernels"]) == 3
    assert parts["memory"]["memory"]["peak_bytes"] == {"cuda:0": 6048}
    assert client.get("/ask/trace?trace=r0&part=stacks").json == {"stacks": []}


def test_the_timeline_by_stretches_and_names(client: Client) -> None:
    whole = client.get("/ask/trace_timeline?trace=r0").json
    assert whole["whole_s"] == pytest.approx(2e-3) and len(whole["lanes"]) == 4
    part = client.get("/ask/trace_timeline?trace=r0&from=0.0012&to=0.0013&width=500").json
    assert sum(len(lane["bars"]) for lane in part["lanes"]) < sum(len(lane["bars"]) for lane in whole["lanes"])
    found = client.get("/ask/trace_timeline?trace=r0&find=addmm&after=0.0005").json["found"]
    assert found["start_s"] == pytest.approx(1160e-6)
    assert client.get("/ask/trace_timeline?trace=r0&find=conv").json == {"found": None}
    assert client.get("/ask/trace_timeline?trace=r0&from=x").status == 404


def test_ranks_and_the_difference_of_two(client: Client) -> None:
    ranks = client.get("/ask/trace_ranks?trace=r1").json
    assert [(each["rank"], round(each["communicating_s"] * 1e6)) for each in ranks["ranks"]] == [
        (0, 100),
        (1, 150),
    ]
    found = client.get("/ask/trace_difference?before=r0&after=r1").json
    assert found["kernels"][0]["after_s"] - found["kernels"][0]["before_s"] == pytest.approx(50e-6)


@pytest.mark.parametrize("name", ["../r0", "", "/etc/passwd", "r2"])
def test_a_name_is_looked_up_and_never_a_path(client: Client, name: str) -> None:
    reply = client.get(f"/ask/trace?trace={name}")
    assert reply.status == 404 and "There is no trace" in reply.json["error"]


def test_what_is_being_read_and_what_cannot_be(tmp_path: Path) -> None:
    make_run(tmp_path / "one")
    book = TraceBook({"slow": "/a/slow.pt.trace.json", "torn": "/a/torn.pt.trace.json"})
    book.note_share("slow", 0.25)
    book.fail("torn", "torn.pt.trace.json is no JSON.")
    with serving(tmp_path, traces=book) as client:
        slow, torn = client.get("/ask/traces").json["traces"]
        assert (slow["ready"], slow["share"], torn["error"]) == (False, 0.25, "torn.pt.trace.json is no JSON.")
        assert "is being read" in client.get("/ask/trace?trace=slow").json["error"]
        assert "is no JSON" in client.get("/ask/trace?trace=torn").json["error"]
