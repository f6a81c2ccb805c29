"""quick.py with one second, not minutes, for trackers that do not come to an end."""

import runpy
from pathlib import Path

import standing  # noqa: F401  first: it has more patience

from torch_debugger.integrations import delivery as shipping

shipping.WAIT_S, shipping._SILENT_S = 1.0, 0.5
runpy.run_path(str(Path(__file__).parent / "quick.py"), run_name="__main__")
