"""`torch-debugger` in a fork, which starts real, fresh interpreters: scripts, trackers' couriers and pages."""

import subprocess
import sys

from torch_debugger.cli import main

subprocess.Popen = next(kind for kind in subprocess.Popen.__mro__ if kind.__module__ == "subprocess")
del sys.orig_argv[1:]  # the flags of the tests' own interpreter are not the script's

if __name__ == "__main__":
    sys.exit(main())
