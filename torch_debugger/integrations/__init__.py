"""Doors to the places where people work: interpreters, notebooks, frameworks."""

from __future__ import annotations
