"""`torch-debugger` in a fork that has a terminal: a session of its own, to which Ctrl-C comes from there."""

import fcntl
import sys
import termios

from torch_debugger.cli import main

fcntl.ioctl(0, termios.TIOCSCTTY, 0)
if __name__ == "__main__":
    sys.exit(main())
