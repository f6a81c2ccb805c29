"""The first file of the watched process, run by its path: it loads the package it lies in and no
other, leaves no trace of that on sys.path, and hands over to the launcher."""

import os
import sys

if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", sys.flags.isolated):
        del sys.path[0]  # this file's own folder
    sys.path.insert(0, os.path.abspath(os.path.join(os.path.dirname(__file__), "..", "..")))
    import torch_debugger  # noqa: F401

    del sys.path[0]
    from torch_debugger.cli import launch

    launch.main()
