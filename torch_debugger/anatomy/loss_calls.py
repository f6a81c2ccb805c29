"""Which functions and classes a node of the autograd graph may come from, by their names in the source."""

from __future__ import annotations

TERM_CALLS = {"Exp": ("exp",), "Log": ("kl_divergence",)}
_CHOOSING = ("nll_loss", "NLLLoss", "cross_entropy", "CrossEntropyLoss")
NODE_CALLS = {
    "Softmax": ("softmax",),
    "LogSoftmax": ("log_softmax",),
    "Sigmoid": ("sigmoid",),
    "Tanh": ("tanh",),
    "Round": ("round",),
    "Sign": ("sign",),
    "NllLoss": _CHOOSING,
    "NllLoss2D": _CHOOSING,
    "BinaryCrossEntropy": ("binary_cross_entropy", "BCELoss"),
    "BinaryCrossEntropyWithLogits": ("binary_cross_entropy_with_logits", "BCEWithLogitsLoss"),
    "MseLoss": ("mse_loss", "MSELoss"),
}
