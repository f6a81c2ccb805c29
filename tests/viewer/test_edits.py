"""Names, tags and notes stay beside the runs; deleting takes away a run and nothing else."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.viewer.serving import Client, end_run, make_run, serving
from torch_debugger.log.writer import LogWriter
from torch_debugger.viewer.labels import FILE


@pytest.fixture
def shown(tmp_path: Path) -> Path:
    for name in ("one", "two", "deep/three"):
        end_run(make_run(tmp_path / "shown" / name))
    return tmp_path / "shown"


@pytest.fixture
def client(shown: Path) -> Iterator[Client]:
    with serving(shown) as client:
        yield client


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != FILE}


def test_labels_are_kept_beside_the_runs_and_not_in_them(client: Client, shown: Path) -> None:
    before = contents(shown)
    assert client.edit({"run": "one", "name": " the <b>best</b> "}).json["name"] == "the <b>best</b>"
    assert client.edit({"run": "one", "tags": ["a", "b", "a", ""]}).json["tags"] == ["a", "b"]
    client.edit({"run": "deep/three", "note": "first\nsecond"})
    expected = {
        "one": {"name": "the <b>best</b>", "tags": ["a", "b"], "note": ""},
        "deep/three": {"name": "", "tags": [], "note": "first\nsecond"},
    }
    assert client.get("/ask/labels").json == {"runs": expected}
    assert contents(shown) == before
    with serving(shown) as later:
        assert later.get("/ask/labels").json == {"runs": expected}


def test_what_is_emptied_is_taken_away(client: Client, shown: Path) -> None:
    client.edit({"run": "one", "name": "x"})
    client.edit({"run": "one", "name": ""})
    assert client.get("/ask/labels").json == {"runs": {}}
    assert json.loads((shown / FILE).read_text())["runs"] == {}


def test_a_run_shown_alone_has_the_label_it_has_among_others(shown: Path) -> None:
    with serving({"one": str(shown / "one")}) as alone:
        assert alone.edit({"run": "one", "name": "x"}).status == 200
    with serving(shown) as all_of_them:
        assert all_of_them.get("/ask/labels").json["runs"]["one"]["name"] == "x"


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        ({"run": "one"}, "gives a name"),
        ({"run": "none", "name": "x"}, "There is no run"),
        ({"run": "../shown/one", "name": "x"}, "There is no run"),
        ({"name": "x"}, "names its run"),
        ({"run": ["one"], "name": "x"}, "names its run"),
        ({"run": "one", "name": 7}, "A name is a text"),
        ({"run": "one", "name": "x" * 201}, "at most 200"),
        ({"run": "one", "name": "a\x1b[31m"}, "control characters"),
        ({"run": "one", "tags": "a"}, "Tags are a list"),
        ({"run": "one", "tags": ["a"] * 31}, "Tags are a list"),
        ({"run": "one", "note": "x" * 20_001}, "at most 20,000"),
        ({"run": "one", "delete": True}, "confirm"),
        ({"run": "one", "delete": True, "confirm": "two"}, "confirm"),
        ({"run": "one", "delete": "yes", "confirm": "one"}, "gives a name"),
    ],
)
def test_what_makes_no_sense_is_refused(client: Client, shown: Path, edit: Any, why: str) -> None:
    before = contents(shown)
    reply = client.edit(edit)
    assert reply.status == 409
    assert why in reply.json["error"]
    assert contents(shown) == before and not (shown / FILE).exists()


def test_a_given_name_is_told_with_the_run(client: Client) -> None:
    assert client.get("/ask/about?run=one").json["given_name"] is None
    client.edit({"run": "one", "name": "the good one"})
    assert client.get("/ask/about?run=one").json["given_name"] == "the good one"


def test_letters_that_join_others_are_letters(client: Client) -> None:
    name = "\u0645\u06cc\u200c\u062e \U0001f469\u200d\U0001f4bb"
    assert client.edit({"run": "one", "name": name}).status == 200
    assert client.get("/ask/labels").json["runs"]["one"]["name"] == name


@pytest.mark.parametrize("text", ["", "{", "[]", '{"runs": 3}', '{"runs": {"one": 3, "two": {"name": []}}}'])
def test_a_file_of_labels_that_is_damaged_is_no_obstacle(client: Client, shown: Path, text: str) -> None:
    (shown / FILE).write_text(text)
    assert client.get("/ask/labels").json == {"runs": {}}
    client.edit({"run": "one", "name": "x"})
    assert client.get("/ask/labels").json["runs"]["one"]["name"] == "x"
    if "{}" not in text and '"one"' not in text:
        assert (shown / f"{FILE}.damaged").read_text() == text


def test_what_is_sound_in_a_strange_file_is_kept(client: Client, shown: Path) -> None:
    (shown / FILE).write_text('{"runs": {"one": {"name": "kept", "tags": 3}, "two": null}}')
    assert client.get("/ask/labels").json == {"runs": {"one": {"name": "kept", "tags": [], "note": ""}}}


def test_a_deleted_run_is_gone_and_its_neighbours_are_not(client: Client, shown: Path) -> None:
    client.edit({"run": "one", "name": "x"})
    assert client.get("/ask/about?run=one").status == 200
    reply = client.edit({"run": "one", "delete": True, "confirm": "one"})
    assert reply.json == {"run": "one", "deleted": True, "left": []}
    assert not (shown / "one").exists()
    assert sorted(client.get("/ask/names").json["runs"]) == ["deep/three", "two"]
    assert client.get("/ask/labels").json == {"runs": {}}
    assert client.get("/ask/about?run=one").status == 404


def test_what_is_not_ours_is_left(client: Client, shown: Path) -> None:
    (shown / "one" / "model.pt").write_bytes(b"weights")
    end_run(make_run(shown / "one" / "inner"))
    reply = client.edit({"run": "one", "delete": True, "confirm": "one"})
    assert reply.json["left"] == ["inner", "model.pt"]
    assert sorted(os.listdir(shown / "one")) == ["inner", "model.pt"]
    assert len(os.listdir(shown / "one" / "inner")) == 3


def test_a_run_that_is_still_written_is_not_deleted(client: Client, shown: Path) -> None:
    writer = LogWriter(shown / "live", on_fault=print)
    try:
        reply = client.edit({"run": "live", "delete": True, "confirm": "live"})
        assert reply.status == 409 and "may still be written" in reply.json["error"]
        assert list((shown / "live").iterdir())
    finally:
        writer.close()


def test_a_run_behind_a_link_that_leads_away_is_not_deleted(client: Client, shown: Path) -> None:
    away = end_run(make_run(shown.parent / "away"))
    (shown / "link").symlink_to(away)
    reply = client.edit({"run": "link", "delete": True, "confirm": "link"})
    assert reply.status == 409 and "lies elsewhere" in reply.json["error"]
    assert len(list(away.iterdir())) == 3
