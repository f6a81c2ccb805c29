"""`torch-debugger` with the session of sitecustomize.py, which a fork has not run at its start.

The script that it starts is forked from it and finds all of this in place.
"""

import fcntl
import os
import runpy
import sys
import tempfile
import termios
from pathlib import Path

from torch_debugger.cli import main

if "training" not in sys.modules:
    from torch_debugger.integrations import delivery as shipping
    from torch_debugger.runner import launch as handover

    runpy.run_path(str(Path(__file__).with_name("sitecustomize.py")))
    tempfile.tempdir = None  # asked for again, with the TMPDIR of the test
    # How long others are waited for is not what a busy machine decides here.
    handover._WAIT_S = float(os.environ.get("HANDOVER_WAIT_S", "300"))
    shipping.WAIT_S = 300.0
    if os.isatty(0):
        # A session of its own, and its terminal: Ctrl-C and new sizes come from there.
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

if __name__ == "__main__":
    sys.exit(main())
