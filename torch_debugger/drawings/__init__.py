"""Graphs as boxes and lines: laid out in Python, drawn as SVG, HTML, PNG and text."""
