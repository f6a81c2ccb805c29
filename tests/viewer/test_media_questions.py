"""What a run has logged beside curves: which tags there are, what an event holds, and the files themselves."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pytest
from PIL import Image

from tests.viewer.logged import raw_event, write
from tests.viewer.serving import Client, Reply, serving
from torch_debugger.log.run import Run
from torch_debugger.records import PictureSummary, SoundSummary, TextSummary, UncountedSummary
from torch_debugger.viewer.media import heat_of, picture_facts, sound_facts


def png(width: int = 3, height: int = 2) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(file, "PNG")
    return file.getvalue()


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    pixels = np.zeros((1, 4, 5, 3), np.uint8)
    records: list[Any] = [PictureSummary(step, 1e9, "samples", pixels + step) for step in (0, 10, 20)]
    records += [PictureSummary(20, 1e9, "samples", pixels + 99)]
    records += [PictureSummary(0, 1e9, "film", np.zeros((3, 4, 5, 3), np.uint8), film=True)]
    records += [
        TextSummary(5, 1e9, "notes", "a *text*"),
        SoundSummary(5, 1e9, "tone", np.zeros((80, 1), np.int16), 8000),
    ]
    records += [UncountedSummary(step, 1e9, "weights", np.linspace(-1, 1 + step, 50)) for step in (0, 1)]
    records += [
        raw_event(b"svg", 4, b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'),
        raw_event(b"html", 4, b"<html><script>alert(1)</script>"),
        raw_event(b"cut", 4, png()[:20]),
        raw_event(b"no sound", 6, b"<html>"),
        raw_event(b"odd \xff bytes", 4, png()),
    ]
    write(tmp_path / "run", *records)
    with serving(tmp_path) as page:
        yield page


def ask(client: Client, question: str, **given: Any) -> Reply:
    return client.get(f"/ask/{question}?{urlencode({'run': 'run', **given})}")


def test_tags_come_with_their_kinds_and_steps(client: Client) -> None:
    told = ask(client, "media").json
    tags = {each["name"]: (each["kind"], each["steps"]) for each in told["tags"]}

    assert tags["samples"] == ("pictures", [0, 10, 20])
    assert tags["notes"] == ("texts", [5])
    assert tags["tone"] == ("sounds", [5])
    assert tags["weights"] == ("histograms", [0, 1])
    assert told["all"] == told["found"] == len(tags)


def test_tags_are_found_by_a_part_of_their_name(client: Client) -> None:
    told = ask(client, "media", find="SAMP").json

    assert [each["name"] for each in told["tags"]] == ["samples"]
    assert told["found"] == 1 < told["all"]


def test_every_picture_of_an_event_is_there(client: Client) -> None:
    items = ask(client, "media", kind="pictures", tag="samples", step=20).json["items"]
    files = [ask(client, "picture", tag="samples", step=20, index=each["index"]) for each in items]

    assert [(each["kind"], each["width"], each["height"]) for each in items] == [("image/png", 5, 4)] * 2
    assert [np.asarray(Image.open(io.BytesIO(file.body))).max() for file in files] == [20, 99]
    assert files[0].headers["Content-Type"] == "image/png"
    assert files[0].headers["X-Content-Type-Options"] == "nosniff"


def test_a_film_is_a_gif_and_a_sound_a_wave(client: Client) -> None:
    assert ask(client, "picture", tag="film", step=0).headers["Content-Type"] == "image/gif"
    sound = ask(client, "sound", tag="tone", step=5)
    assert sound.headers["Content-Type"] == "audio/wav" and sound.body[:4] == b"RIFF"


@pytest.mark.parametrize("tag", ["svg", "html", "cut"])
def test_what_is_no_picture_is_told_and_never_served(client: Client, tag: str) -> None:
    (item,) = ask(client, "media", kind="pictures", tag=tag, step=3).json["items"]
    file = ask(client, "picture", tag=tag, step=3)

    assert item["problem"].endswith(".") and "kind" not in item
    assert file.status == 404 and file.headers["Content-Type"] == "application/json"


def test_what_is_no_sound_is_told_and_never_served(client: Client) -> None:
    (item,) = ask(client, "media", kind="sounds", tag="no sound", step=3).json["items"]

    assert "WAV" in item["problem"]
    assert ask(client, "sound", tag="no sound", step=3).status == 404


def test_a_tag_that_is_no_text_is_found_by_what_is_shown_of_it(client: Client) -> None:
    (tag,) = [each["tag"] for each in ask(client, "media").json["tags"] if each["tag"].startswith("odd")]

    assert ask(client, "picture", tag=tag, step=3).body == png()


@pytest.mark.parametrize(
    "given",
    [
        {"kind": "pictures", "tag": "missing", "step": 0},
        {"kind": "scalars", "tag": "samples", "step": 0},
        {"kind": "pictures", "tag": "samples", "step": "x"},
    ],
)
def test_what_makes_no_sense_is_refused_in_words(client: Client, given: Any) -> None:
    reply = ask(client, "media", **given)

    assert reply.status == 404 and reply.json["error"].endswith(".")


def test_an_index_that_is_not_there_is_refused(client: Client) -> None:
    assert ask(client, "picture", tag="samples", step=20, index=2).status == 404
    assert ask(client, "picture", tag="samples", step=20, index=-1).status == 404


def test_texts_come_in_full(client: Client) -> None:
    (item,) = ask(client, "media", kind="texts", tag="notes/text_summary", step=5).json["items"]

    assert item == {"text": "a *text*", "characters": 8}


def test_a_very_long_text_is_cut_and_says_so(tmp_path: Path) -> None:
    write(tmp_path / "run", TextSummary(1, 1e9, "notes", "x" * 300_000))
    with serving(tmp_path) as client:
        (tag,) = ask(client, "media").json["tags"]
        (item,) = ask(client, "media", kind="texts", tag=tag["tag"], step=1).json["items"]

    assert len(item["text"]) == 100_000 and item["characters"] == 300_000


def test_histograms_share_their_edges_and_every_value_is_somewhere(client: Client) -> None:
    told = ask(client, "media", kind="histograms", tag="weights").json

    assert told["steps"] == [0, 1] and told["counts"] == [50, 50]
    assert told["edges"][0] == pytest.approx(-1) and told["edges"][-1] == pytest.approx(2)
    assert [sum(column) for column in told["shares"]] == pytest.approx([1, 1], abs=1e-3)
    half = len(told["edges"]) // 2
    assert sum(told["shares"][0][:half]) > sum(told["shares"][1][:half])


def test_histograms_that_hold_nothing_draw_nothing() -> None:
    assert heat_of([])["steps"] == []


def test_of_very_many_steps_some_are_offered_the_ends_among_them(tmp_path: Path) -> None:
    write(tmp_path / "run", *(TextSummary(step, 1e9, "t", "x") for step in range(5000)))
    with serving(tmp_path) as client:
        (tag,) = ask(client, "media").json["tags"]

    assert tag["all_steps"] == 5000 and len(tag["steps"]) == 400
    assert tag["steps"][0] == 0 and tag["steps"][-1] == 4999


def test_only_the_asked_event_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run(write(tmp_path / "run", *(TextSummary(step, 1e9, "t", "x") for step in range(50))))
    (tag,) = run.steps_of("texts")
    read: list[int] = []

    def decode(step: int, time: float, value: Any) -> Iterator[int]:
        read.append(step)
        yield step

    monkeypatch.setattr("torch_debugger.log.media.DECODERS", {"texts": decode})

    assert run.media_at("texts", tag, [7]) == read == [7]


def test_a_picture_too_large_for_a_page_is_not_opened() -> None:
    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 2, 0, 0, 0)
    chunk = b"IHDR" + header
    bomb = b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))

    assert "kind" not in picture_facts(bomb)
    assert "kind" not in picture_facts(b"")
    assert sound_facts(b"") != {}
