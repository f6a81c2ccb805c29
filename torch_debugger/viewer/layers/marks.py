"""Which findings speak of which layer."""

from __future__ import annotations

from collections.abc import Collection

from torch_debugger.records import SEVERITIES, Finding
from torch_debugger.viewer.layers.parameters import owner_of


def findings_by_layer(findings: list[Finding], layers: Collection[str]) -> dict[str, list[Finding]]:
    """By the module that a finding names, or the module of the parameter that it names."""
    found: dict[str, list[Finding]] = {}
    for finding in findings:
        module = finding.where.module or ""
        for layer in dict.fromkeys((module, owner_of(module))):
            if layer in layers:
                found.setdefault(layer, []).append(finding)
                break
    return found


def marks(findings: list[Finding], layers: list[str]) -> list[dict[str, object]]:
    """For the margin: the layer's place, how serious it is, and the words."""
    places = {layer: place for place, layer in enumerate(layers)}
    return [
        {
            "layer": places[layer],
            "severity": max((each.severity for each in about), key=SEVERITIES.index),
            "names": [each.name for each in about],
        }
        for layer, about in findings_by_layer(findings, places).items()
    ]
