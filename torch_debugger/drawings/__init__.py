"""Graphs as pictures: a model laid out and drawn as SVG, HTML, PNG and text."""
