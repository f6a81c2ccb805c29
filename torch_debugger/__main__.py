"""python -m torch_debugger"""

import sys

if not getattr(sys.flags, "safe_path", sys.flags.isolated):
    del sys.path[0]  # the user's folder, where a json.py of theirs may lie

from torch_debugger.cli import main

sys.exit(main())
