"""Builds the page before `make demo`, where that can be done; the demo runs in any case.

Where npm is missing, Node comes as a Python package. Says what it does and how long it took: it is the one part
of the install that may be slow. Without a network it says so and leaves the page to `make page`.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "build_backend"))
import page_npm

_MOST_LINES = 3  # of what npm said when it failed
# A network that is not there is noticed within half a minute instead of several.
_IMPATIENT = {
    "npm_config_fetch_retries": "1",
    "npm_config_fetch_timeout": "30000",
    "npm_config_fetch_retry_mintimeout": "1000",
    "npm_config_fetch_retry_maxtimeout": "5000",
}


def main() -> int:
    if not page_npm.is_stale():
        return 0
    began = time.monotonic()
    needs_node = not page_npm.find_npm()
    _say(f"Building the page{', with Node from PyPI since npm is not here' if needs_node else ''} ...")
    try:
        if needs_node:
            _fetch_node()
        page_npm.build(quiet=True, environment=_IMPATIENT)
    except (page_npm.NoNpmError, subprocess.CalledProcessError, OSError) as error:
        _say(f"The page could not be built: {_reason(error)}")
        _say("The demo runs without it. `make page` tries again.")
        return 0
    _say(f"The page was built in {time.monotonic() - began:.0f} s; it is built again when web/ changes.")
    return 0


def _fetch_node() -> None:
    if not page_npm.wheel_is_needed():
        raise page_npm.NoNpmError("there is no npm, and no Node on PyPI for this machine")
    options = ["--quiet", "--disable-pip-version-check", "--retries", "1", "--timeout", "15"]
    constraints = str(page_npm.ROOT / "constraints.txt")
    command = [sys.executable, "-m", "pip", "install", *options, "--constraint", constraints, page_npm.WHEEL]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        raise page_npm.NoNpmError(f"Node did not come from PyPI (`pip install {page_npm.WHEEL}` says why)")


def _reason(error: Exception) -> str:
    said = getattr(error, "output", None) or ""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return "\n  ".join(lines[-_MOST_LINES:]) or f"{error}."


def _say(words: str) -> None:
    sys.stdout.write(f"{words}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
