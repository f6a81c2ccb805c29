"""quick.py in a fork, with fresh interpreters for what it starts."""

import runpy
from pathlib import Path

import fresh  # noqa: F401

runpy.run_path(str(Path(__file__).with_name("quick.py")), run_name="__main__")
