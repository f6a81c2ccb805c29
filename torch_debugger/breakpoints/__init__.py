"""Breakpoints that know tensors: conditions on what modules take and give, and stops in the user's frame."""
