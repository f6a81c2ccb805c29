"""Who is let in: tried with the heads that browsers, and those who misuse them, send."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from werkzeug import Request
from werkzeug.test import EnvironBuilder

from tests.viewer.serving import Client, make_run, serving
from torch_debugger.viewer.http_server import LOOPBACK, RequestGuard
from torch_debugger.viewer.server import address

EDIT = {"run": "run", "name": "better"}


def asked(path: str = "/", method: str = "GET", **headers: str) -> Request:
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    environ = EnvironBuilder(path, method=method).get_environ()
    environ.update({f"HTTP_{name.upper().replace('-', '_')}": value for name, value in given.items()})
    return Request(environ)


@pytest.mark.parametrize("host", ["localhost:8080", "127.0.0.1:8080", "[::1]:8080", "LOCALHOST:1", "localhost"])
def test_our_own_names_are_let_in(host: str) -> None:
    assert RequestGuard("edit").refusal(asked(Host=host)) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example:8080", "", "192.168.0.7:8080",
        "127.0.0.1:8080@evil.example", "evil.example:127.0.0.1", "::1", "[::1]evil", "localhost:8080:80",
    ],
)  # fmt: skip
def test_a_name_that_somebody_made_lead_here_is_not(host: str) -> None:
    refused = RequestGuard("edit").refusal(asked(Host=host))
    assert refused is not None and refused.status == 421


def test_a_given_host_is_a_name_of_ours_and_no_other() -> None:
    guard = RequestGuard("edit", hosts={*LOOPBACK, "gpu7"})
    assert guard.refusal(asked(Host="gpu7:8080")) is None
    assert guard.refusal(asked(Host="gpu8:8080")) is not None


def test_a_server_on_all_addresses_may_be_called_by_each_of_them() -> None:
    guard = RequestGuard("edit", any_address=True)
    assert guard.refusal(asked(Host="192.168.0.7:8080")) is None
    assert guard.refusal(asked(Host="[fe80::1]:8080")) is None
    assert guard.refusal(asked(Host="evil.example:8080")) is not None  # by name it could be a rebinding


@pytest.mark.parametrize(
    ("headers", "let_in"),
    [
        ({"Origin": "http://localhost:80"}, True),
        ({"Origin": "http://localhost:81"}, False),
        ({"Origin": "https://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Sec_Fetch_Site": "same-origin"}, True),
        ({"Sec_Fetch_Site": "none"}, True),
        ({"Sec_Fetch_Site": "cross-site"}, False),
        ({"Sec_Fetch_Site": "same-site"}, False),
        ({"Sec_Fetch_Site": "cross-site", "Sec_Fetch_Mode": "navigate"}, True),  # a link was followed
    ],
)
def test_other_sites_cannot_ask(headers: dict[str, str], let_in: bool) -> None:
    refused = RequestGuard("edit").refusal(asked("/ask/names", Host="localhost:80", **headers))
    assert (refused is None) == let_in


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    make_run(tmp_path / "run")
    with serving(tmp_path) as client:
        yield client


def test_an_edit_needs_the_page_its_token_and_json(client: Client) -> None:
    token = client.get("/ask/session").json["edit_token"]
    assert len(token) >= 24

    def edit(**headers: str) -> Any:
        return client.send("POST", "/ask/edits", EDIT, **headers)

    assert edit().status == 403
    assert edit(X_Edit_Token="wrong").status == 403
    assert edit(X_Edit_Token="wröng".encode().decode("latin-1")).status == 403
    assert edit(X_Edit_Token=token, Origin="http://evil.example").status == 403
    assert edit(X_Edit_Token=token, Content_Type="text/plain").status == 415
    assert client.get("/ask/labels").json == {"runs": {}}
    reply = edit(X_Edit_Token=token, Origin=f"http://127.0.0.1:{client.port}")
    assert reply.status == 200, reply.body
    assert client.get("/ask/labels").json["runs"]["run"]["name"] == "better"


def test_reading_changes_nothing(client: Client) -> None:
    reply = client.get("/ask/edits?run=run&name=better")
    assert reply.status == 404 and "POST" in reply.json["error"]


def test_with_a_token_nobody_else_is_let_in(tmp_path: Path) -> None:
    make_run(tmp_path / "run")
    with serving(tmp_path, token="s3cret") as client:
        for path in ("/", "/page.js", "/ask/names", "/ask/names?token=wrong", "/ask/names?token="):
            reply = client.get(path)
            assert reply.status == 401
            assert b"s3cret" not in reply.body
        assert client.get("/ask/names", Cookie=f"torch-debugger-{client.port}=wrong").status == 401
        opened = client.get("/?token=s3cret")
        assert opened.status == 200
        cookie = opened.headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Strict" in cookie
        assert client.get("/ask/names", Cookie=cookie.partition(";")[0]).json["runs"] == ["run"]
        assert client.get("/ask/names", Authorization="Bearer s3cret").status == 200


@pytest.mark.parametrize("token", ["my+token", "tok#1", "a&b", "p@ss word", "a;b", '"q"', "a b&c/é", "x" * 5000])
def test_any_token_works_as_it_is_printed(tmp_path: Path, token: str) -> None:
    make_run(tmp_path / "run")
    with serving(tmp_path, token=token) as client:
        printed = address("127.0.0.1", client.port, token)
        path = printed.removeprefix(f"http://127.0.0.1:{client.port}")
        cookie = client.get(path).headers["Set-Cookie"].partition(";")[0]
        assert client.get("/ask/names", Cookie=cookie).json["runs"] == ["run"]
        assert token not in cookie


def test_without_one_there_is_no_cookie(client: Client) -> None:
    assert "Set-Cookie" not in client.get("/?token=anything").headers
