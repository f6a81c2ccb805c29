"""setuptools' build backend with one more step: a wheel and an sdist hold the built page.

Where the page cannot be built the package is built all the same, and the page says how to build it. An editable
install leaves the page to `make page`, so that it stays quick and needs no Node.
"""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import page_npm
from setuptools import build_meta
from setuptools.build_meta import (
    build_editable,
    get_requires_for_build_editable,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

_Settings = dict[str, Any] | None


def get_requires_for_build_wheel(config_settings: _Settings = None) -> list[str]:
    return [*build_meta.get_requires_for_build_wheel(config_settings), *_node()]


def get_requires_for_build_sdist(config_settings: _Settings = None) -> list[str]:
    return [*build_meta.get_requires_for_build_sdist(config_settings), *_node()]


def build_wheel(wheel_directory: str, config_settings: _Settings = None, metadata_directory: str | None = None) -> str:
    _build_page()
    name: str = build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
    return name


def build_sdist(sdist_directory: str, config_settings: _Settings = None) -> str:
    _build_page()
    name: str = build_meta.build_sdist(sdist_directory, config_settings)
    return name


def _node() -> list[str]:
    return [page_npm.WHEEL] if page_npm.is_stale() and page_npm.wheel_is_needed() else []


def _build_page() -> None:
    try:
        if page_npm.is_stale():
            page_npm.build()
    except (page_npm.NoNpmError, subprocess.CalledProcessError, OSError) as error:
        sys.stderr.write(f"The package is built without its web page ({error}).\n")
