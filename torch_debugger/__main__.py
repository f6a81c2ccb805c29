"""python -m torch_debugger"""

import sys

from torch_debugger.cli import main

sys.exit(main())
