"""Who reads what from whom in the graph of a model."""

from __future__ import annotations

import torch
from torch import nn

from torch_debugger.records.model import GraphNode, ModelGraph


def readers(graph: ModelGraph, name: str) -> set[str]:
    """The nodes that read what the named one made."""
    return {graph.nodes[edge.target].name for edge in graph.edges if graph.nodes[edge.source].name == name}


def sources(graph: ModelGraph, name: str) -> set[str]:
    return {graph.nodes[edge.source].name for edge in graph.edges if graph.nodes[edge.target].name == name}


def node(graph: ModelGraph, name: str) -> GraphNode:
    return next(each for each in graph.nodes if each.name == name)


def reached_from_inputs(graph: ModelGraph) -> set[str]:
    reached = {place for place, each in enumerate(graph.nodes) if each.kind == "input"}
    for edge in graph.edges:  # sources stand before their targets
        if edge.source in reached:
            reached.add(edge.target)
    return {graph.nodes[place].name for place in reached}


def state_of(model: nn.Module) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items() if torch.is_tensor(value)}
