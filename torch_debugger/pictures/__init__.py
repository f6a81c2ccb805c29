"""Pictures of a model: what its layers hold, what they see, what they look at.

    from torch_debugger import pictures
    pictures.filters(model, "conv1").save("filters.png")

Names are loaded on first use: a training that draws nothing does not import matplotlib.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_debugger.pictures.attending.flow import attention_flow
    from torch_debugger.pictures.attending.heat_maps import attention
    from torch_debugger.pictures.attending.rollout import attention_rollout
    from torch_debugger.pictures.attributing.integrated import integrated_gradients
    from torch_debugger.pictures.attributing.occluding import occlusion
    from torch_debugger.pictures.attributing.picture import Attribution
    from torch_debugger.pictures.attributing.slopes import input_x_gradient, saliency
    from torch_debugger.pictures.attributing.smoothed import smoothgrad
    from torch_debugger.pictures.batches.showing import show_batch
    from torch_debugger.pictures.cams.class_activations import GradCAM, class_activation, gradcam
    from torch_debugger.pictures.cams.picture import ClassActivation
    from torch_debugger.pictures.curves.curves_of_runs import loss_curve
    from torch_debugger.pictures.embedding.points import embeddings
    from torch_debugger.pictures.exciting.top import top_examples
    from torch_debugger.pictures.flowing.flow_of_gradients import GradientFlow, gradient_flow
    from torch_debugger.pictures.maps.filters_of_layers import filters
    from torch_debugger.pictures.maps.maps_of_layers import feature_maps
    from torch_debugger.pictures.maximizing.maximize import maximize
    from torch_debugger.pictures.picture import Picture
    from torch_debugger.pictures.spreading.histograms import activation_histograms, weight_histograms

_HOMES = {
    "Attribution": "torch_debugger.pictures.attributing.picture",
    "ClassActivation": "torch_debugger.pictures.cams.picture",
    "GradCAM": "torch_debugger.pictures.cams.class_activations",
    "GradientFlow": "torch_debugger.pictures.flowing.flow_of_gradients",
    "Picture": "torch_debugger.pictures.picture",
    "activation_histograms": "torch_debugger.pictures.spreading.histograms",
    "attention": "torch_debugger.pictures.attending.heat_maps",
    "attention_flow": "torch_debugger.pictures.attending.flow",
    "attention_rollout": "torch_debugger.pictures.attending.rollout",
    "class_activation": "torch_debugger.pictures.cams.class_activations",
    "embeddings": "torch_debugger.pictures.embedding.points",
    "feature_maps": "torch_debugger.pictures.maps.maps_of_layers",
    "filters": "torch_debugger.pictures.maps.filters_of_layers",
    "gradcam": "torch_debugger.pictures.cams.class_activations",
    "gradient_flow": "torch_debugger.pictures.flowing.flow_of_gradients",
    "input_x_gradient": "torch_debugger.pictures.attributing.slopes",
    "integrated_gradients": "torch_debugger.pictures.attributing.integrated",
    "loss_curve": "torch_debugger.pictures.curves.curves_of_runs",
    "maximize": "torch_debugger.pictures.maximizing.maximize",
    "occlusion": "torch_debugger.pictures.attributing.occluding",
    "saliency": "torch_debugger.pictures.attributing.slopes",
    "show_batch": "torch_debugger.pictures.batches.showing",
    "smoothgrad": "torch_debugger.pictures.attributing.smoothed",
    "top_examples": "torch_debugger.pictures.exciting.top",
    "weight_histograms": "torch_debugger.pictures.spreading.histograms",
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
