"""Runs on disk, finished or still growing: found, read into columns, compared. Reads what TensorBoard reads."""

from __future__ import annotations
