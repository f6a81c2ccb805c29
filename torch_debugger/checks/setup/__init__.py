"""Wiring: what the optimizer holds, what is registered, what is cleared and when."""
