"""Activation maximization: the image that a channel, a unit, a logit or a layer answers to most strongly."""
