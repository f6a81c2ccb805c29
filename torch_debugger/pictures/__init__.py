"""Pictures of a model: what its layers hold, what they see, what they look at.

    from torch_debugger import pictures
    pictures.filters(model, "conv1").save("filters.png")

Names are loaded on first use: a training that draws nothing does not import matplotlib.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_debugger.pictures.activation_maximization import maximize
    from torch_debugger.pictures.attention_across_layers import attention_flow, attention_rollout
    from torch_debugger.pictures.attention_heatmaps import attention
    from torch_debugger.pictures.attribution_methods import (
        input_x_gradient,
        integrated_gradients,
        occlusion,
        saliency,
        smoothgrad,
    )
    from torch_debugger.pictures.attribution_plots import Attribution
    from torch_debugger.pictures.batch_plots import show_batch
    from torch_debugger.pictures.embedding_plots import embeddings
    from torch_debugger.pictures.feature_map_plots import feature_maps
    from torch_debugger.pictures.filter_plots import filters
    from torch_debugger.pictures.gradcam_maps import ClassActivation, GradCAM, class_activation, gradcam
    from torch_debugger.pictures.gradient_flow_plots import GradientFlow, gradient_flow
    from torch_debugger.pictures.histograms import activation_histograms, weight_histograms
    from torch_debugger.pictures.loss_curves import loss_curve
    from torch_debugger.pictures.picture import Picture
    from torch_debugger.pictures.strongest_examples import top_examples

_HOMES = {
    name: f"torch_debugger.pictures.{home}"
    for home, names in {
        "activation_maximization": ["maximize"],
        "attention_across_layers": ["attention_flow", "attention_rollout"],
        "attention_heatmaps": ["attention"],
        "attribution_methods": ["input_x_gradient", "integrated_gradients", "occlusion", "saliency", "smoothgrad"],
        "attribution_plots": ["Attribution"],
        "batch_plots": ["show_batch"],
        "embedding_plots": ["embeddings"],
        "feature_map_plots": ["feature_maps"],
        "filter_plots": ["filters"],
        "gradcam_maps": ["ClassActivation", "GradCAM", "class_activation", "gradcam"],
        "gradient_flow_plots": ["GradientFlow", "gradient_flow"],
        "histograms": ["activation_histograms", "weight_histograms"],
        "loss_curves": ["loss_curve"],
        "picture": ["Picture"],
        "strongest_examples": ["top_examples"],
    }.items()
    for name in names
}

__all__ = [
    "Attribution", "ClassActivation", "GradCAM", "GradientFlow", "Picture", "activation_histograms",
    "attention", "attention_flow", "attention_rollout", "class_activation", "embeddings", "feature_maps",
    "filters", "gradcam", "gradient_flow", "input_x_gradient", "integrated_gradients", "loss_curve",
    "maximize", "occlusion", "saliency", "show_batch", "smoothgrad", "top_examples", "weight_histograms",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'torch_debugger.pictures' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
