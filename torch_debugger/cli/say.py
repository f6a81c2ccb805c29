"""One sentence of ours on stderr; stdout belongs to the script."""

from __future__ import annotations

from torch_debugger.saying import say as say
