"""Answers sent small: to a browser on the other end of a tunnel a curve is a quarter of its size."""

from __future__ import annotations

import functools
import gzip

from werkzeug import Request, Response

_WORTH_BYTES = 4096
_TEXTS = ("application/json", "text/", "image/svg+xml", "image/bmp", "audio/")


def packed(response: Response, request: Request) -> Response:
    """The same response, zipped where the browser takes that and where it pays."""
    response.vary.add("Accept-Encoding")
    if response.status_code != 200 or request.accept_encodings["gzip"] <= 0:
        return response
    body = response.get_data()
    if len(body) < _WORTH_BYTES or not (response.mimetype or "").startswith(_TEXTS):
        return response
    stays = "ETag" in response.headers  # a file of the page: zipped well, and once
    response.set_data(_kept(body) if stays else gzip.compress(body, 1, mtime=0))
    response.headers["Content-Encoding"] = "gzip"
    return response


@functools.lru_cache(maxsize=4)
def _kept(body: bytes) -> bytes:
    return gzip.compress(body, 9, mtime=0)
