"""The page's server as a browser meets it: over a real connection."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.viewer.serving import Client, make_run, serving
from torch_debugger.system.errors import UsageError
from torch_debugger.viewer import questions
from torch_debugger.viewer import questions as bundle
from torch_debugger.viewer.server import listen


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    make_run(tmp_path / "shown" / "run")
    make_run(tmp_path / "secret")
    with serving(tmp_path / "shown") as client:
        yield client


def test_many_questions_go_over_one_connection(client: Client) -> None:
    assert client.get("/ask/names").json["runs"] == ["run"]
    connected = client.connection.sock
    for _ in range(20):
        assert client.get("/ask/pulse?run=run").status == 200
    assert client.connection.sock is connected


def test_a_refusal_leaves_the_connection_sound(client: Client) -> None:
    assert client.send("POST", "/ask/names", {"a": 1}).status == 405
    assert client.send("DELETE", "/ask/names").status == 405
    assert client.get("/ask/names").json["runs"] == ["run"]


def test_the_page_comes_with_a_strict_policy(client: Client) -> None:
    reply = client.get("/")
    assert reply.status == 200
    policy = reply.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert reply.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert b"<style" not in reply.body and b"onload" not in reply.body


def test_an_answer_opened_as_a_page_can_do_nothing(client: Client) -> None:
    assert "sandbox" in client.get("/ask/names").headers["Content-Security-Policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/../secret", "/static/page.js", "/%2e%2e/secret", "/ask/../app", "/ask/__init__", "/ask/", "/ask/os",
        "/page.js/", "/page.html%00", "/ask/names/x",
    ],
)  # fmt: skip
def test_only_what_has_a_name_is_served(client: Client, path: str) -> None:
    reply = client.get(path)
    assert reply.status == 404
    assert reply.json["error"].startswith("There is no")


@pytest.mark.parametrize("run", ["..%2Fsecret", "%2Fetc", "", "run%00", "run%2F..%2F..%2Fsecret"])
def test_no_run_outside_is_reached(client: Client, run: str) -> None:
    for question in ("about", "pulse"):
        reply = client.get(f"/ask/{question}?run={run}")
        assert reply.status == 404
        assert "There is no run" in reply.json["error"]


def test_a_question_that_fails_tells_the_page(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(query: object) -> None:
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("torch_debugger.viewer.server.find_answer", lambda name: fail)
    reply = client.get("/ask/names")
    assert reply.status == 500
    assert reply.json == {"error": "torch-debugger could not read this run (RuntimeError: a fault of ours)."}
    assert b"Traceback" not in reply.body


def test_a_large_answer_is_zipped_for_who_takes_that(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    value = {"values": list(range(5000))}
    monkeypatch.setattr("torch_debugger.viewer.server.find_answer", lambda name: lambda query: value)
    plain, zipped = client.get("/ask/x"), client.get("/ask/x", Accept_Encoding="br, gzip;q=0.5")
    assert "Content-Encoding" not in plain.headers and plain.json == value
    assert zipped.headers["Content-Encoding"] == "gzip"
    assert json.loads(gzip.decompress(zipped.body)) == value
    assert len(zipped.body) < len(plain.body) / 2
    refused = client.get("/ask/x", Accept_Encoding="gzip;q=0")
    assert refused.json == value


def test_the_page_is_not_sent_twice(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    built = {"page.js": b"let a;" * 2000, "page.css": b""}
    monkeypatch.setattr(bundle, "_read", built.get)
    first = client.get("/page.js", Accept_Encoding="gzip")
    assert gzip.decompress(first.body) == built["page.js"]
    again = client.get("/page.js", If_None_Match=first.headers["ETag"], Accept_Encoding="gzip")
    assert (again.status, again.body) == (304, b"")
    built["page.js"] = b"let b;"
    assert client.get("/page.js", If_None_Match=first.headers["ETag"]).status == 200


def test_a_page_that_is_not_built_says_how_to_build_it(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "_read", lambda name: None)
    reply = client.get("/")
    assert reply.status == 200 and b"make page" in reply.body
    assert client.get("/page.js").status == 404
    assert client.get("/ask/names").json["runs"] == ["run"]


def test_head_has_no_body(client: Client) -> None:
    reply = client.send("HEAD", "/")
    assert (reply.status, reply.body) == (200, b"")
    assert client.get("/ask/names").status == 200


def test_a_request_without_end_is_not_read(client: Client) -> None:
    for head in ("Content-Length: 99999999", "Content-Length: -1", "Transfer-Encoding: chunked"):
        with socket.create_connection(("127.0.0.1", client.port), timeout=120) as raw:
            raw.sendall(f"POST /ask/edits HTTP/1.1\r\nHost: localhost\r\n{head}\r\n\r\n".encode())
            assert raw.makefile("rb").read().startswith(b"HTTP/1.1 413 ")


def test_nothing_is_said_on_the_terminal(client: Client, capfd: pytest.CaptureFixture[str]) -> None:
    client.get("/ask/nothing")
    with socket.create_connection(("127.0.0.1", client.port), timeout=120) as raw:
        raw.sendall(b"nonsense\r\n\r\n")
        raw.makefile("rb").read()
    client.get("/ask/names")
    assert capfd.readouterr() == ("", "")


def test_a_port_in_use_is_said(client: Client) -> None:
    with pytest.raises(UsageError, match=rf"127\.0\.0\.1:{client.port}: .*in use.*--port"):
        listen(port=client.port)
    with pytest.raises(UsageError, match="There is no port 70000"):
        listen(port=70000)
    with pytest.raises(UsageError, match="does not know the host"):
        listen(host="no.such.host.invalid")


def test_every_question_has_an_answer() -> None:
    for name in questions.question_names():
        assert callable(questions.find_answer(name))
