"""Runs that other trackers keep on this machine, read without their libraries."""
