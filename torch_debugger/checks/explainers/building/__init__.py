"""Modules, optimizers and schedulers that were built or called wrongly."""
