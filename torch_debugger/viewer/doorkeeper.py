"""Who may ask the page's server, and what for: decided by the head of a request, before anything is looked up.

Any web site can make a browser send requests to this machine, and can give itself a name that leads here (DNS
rebinding). So the name that was asked for must be one of ours, what comes from other sites is refused, and
nothing is changed without a token that only our page has.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from collections.abc import Collection
from dataclasses import dataclass
from http import HTTPStatus

from werkzeug import Request

LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_READING = ("GET", "HEAD")


@dataclass(frozen=True)
class Refused:
    status: int
    why: str


class Doorkeeper:
    """`token` is asked of everybody if there is one. `hosts` are the names by which the server may be called;
    `any_address`: also by any number."""

    def __init__(
        self,
        edit_token: str,
        *,
        token: str = "",
        hosts: Collection[str] = LOOPBACK,
        any_address: bool = False,
        cookie: str = "torch-debugger",
    ) -> None:
        self._edit_token, self._token = edit_token, token
        self._hosts = {host.lower() for host in hosts}
        self._any_address = any_address
        self._cookie = cookie

    def refusal(self, request: Request) -> Refused | None:
        if not self._is_our_name(request.headers.get("Host", "")):
            why = "This server answers only under the address that torch-debugger printed."
            return Refused(HTTPStatus.MISDIRECTED_REQUEST, why)
        if _comes_from_elsewhere(request):
            return Refused(HTTPStatus.FORBIDDEN, "Another site asked for this; only the page itself may.")
        if self._token and not self._knows_token(request):
            why = "Open the page with the whole address that torch-debugger printed: it ends with a token."
            return Refused(HTTPStatus.UNAUTHORIZED, why)
        if request.method in _READING:
            return None
        return self._refusal_of_edit(request)

    def _refusal_of_edit(self, request: Request) -> Refused | None:
        if request.method != "POST" or request.path != "/ask/edits":
            return Refused(HTTPStatus.METHOD_NOT_ALLOWED, "This can be read, and not be changed.")
        if not _same(request.headers.get("X-Edit-Token", ""), self._edit_token):
            why = "The server was started anew since this page was opened. Reload the page, then edit again."
            return Refused(HTTPStatus.FORBIDDEN, why)
        if request.mimetype != "application/json":
            return Refused(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "An edit is told as JSON.")
        return None

    def cookie_for(self, request: Request) -> str | None:
        """To be set where the token came with the address: what the page asks for later does not carry it."""
        if not self._token or "token" not in request.args:
            return None
        return f"{self._cookie}={_for_a_cookie(self._token)}; HttpOnly; SameSite=Strict; Path=/"

    def _knows_token(self, request: Request) -> bool:
        kind, _, given = request.headers.get("Authorization", "").partition(" ")
        bearer = given if kind.lower() == "bearer" else ""
        if _same(request.cookies.get(self._cookie, ""), _for_a_cookie(self._token)):
            return True
        return any(_same(each, self._token) for each in (request.args.get("token", ""), bearer))

    def _is_our_name(self, host: str) -> bool:
        """The port is not compared: a tunnel (ssh -L) may have another one at its near end."""
        name = _without_port(host.strip().lower())
        return name in self._hosts or (self._any_address and _is_number(name))


def _comes_from_elsewhere(request: Request) -> bool:
    origin = request.headers.get("Origin")
    if origin is not None:
        host = request.headers.get("Host", "").strip().lower()
        return origin.lower() not in (f"http://{host}", f"https://{host}")
    opened = request.headers.get("Sec-Fetch-Mode") == "navigate" and request.method in _READING
    return request.headers.get("Sec-Fetch-Site") in ("cross-site", "same-site") and not opened


def _for_a_cookie(token: str) -> str:
    """Short and of plain letters, whatever somebody has chosen for a token."""
    return hashlib.sha256(token.encode()).hexdigest()


def _same(said: str, right: str) -> bool:
    """Takes as long for a wrong one as for the right one; an empty one is never right."""
    return bool(right) and hmac.compare_digest(said.encode(), right.encode())


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() and not name.endswith(":") else host


def _is_number(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
