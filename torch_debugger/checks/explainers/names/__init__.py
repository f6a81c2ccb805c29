"""Names that torch, a module or a call does not have."""
