"""Asking a model about points around an input: numbers as they are, tokens by what embeds them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from torch_debugger.model.hooks import listening
from torch_debugger.model.layers import clean_path, one_layer
from torch_debugger.model.nested_tensors import exchanged, first_tensor, tensors_in
from torch_debugger.pictures.model_runs import Inputs, MainInput, main_input, with_batch_of_one
from torch_debugger.pictures.target_gradients import Aim, Rows, Target, aims_for, input_gradients, rows_of
from torch_debugger.system.errors import UsageError


@dataclass(frozen=True)
class Explained:
    """`value` is what attributions are made for: [examples, ...], floating point."""

    model: nn.Module
    given: MainInput
    value: torch.Tensor
    embedding: tuple[str, nn.Module] | None = None

    def answers(self, points: torch.Tensor, examples: Sequence[int]) -> Rows:
        """The output for each point; what else the model takes is that of these examples."""
        rows = torch.tensor(examples)
        if self.embedding is None:
            return rows_of(self.given.ask(self.model, points, rows), len(points))

        def exchange(call: str, module: nn.Module, taken: Any, output: Any) -> Any:
            """A layer that is called again, as a decoder does with a shared embedding, is left alone then."""
            if "#" in call:
                return None
            tensor = first_tensor(output)
            return exchanged(output, lambda each: points.clone() if each is tensor else each)

        with listening(dict([self.embedding]), exchange):
            return rows_of(self.given.ask(self.model, self.given.tensor[rows], rows), len(points))

    def aims(self, target: Target) -> tuple[list[Aim], torch.Tensor]:
        """And the scores of the input itself."""
        with torch.no_grad():
            rows = self.answers(self.value, range(len(self.value)))
            aims = aims_for(target, rows)
            return aims, torch.stack([aim.score(rows[aim.example]) for aim in aims]).float()

    def scores(self, points: torch.Tensor, aims: Sequence[Aim], batch_size: int) -> torch.Tensor:
        """[points]: each point's score for its own aim."""
        found = []
        with torch.no_grad():
            for start in range(0, len(points), batch_size):
                some = aims[start : start + batch_size]
                rows = self.answers(points[start : start + batch_size], [aim.example for aim in some])
                found += [aim.score(row) for aim, row in zip(some, rows, strict=True)]
        return torch.stack(found).float()

    def gradients(self, points: torch.Tensor, aims: Sequence[Aim], batch_size: int) -> torch.Tensor:
        """[points, ...], float32: the gradient at each point of the score for its own aim."""
        found: list[torch.Tensor] = []
        for start in range(0, len(points), batch_size):
            some = aims[start : start + batch_size]
            leaf = points[start : start + batch_size].detach().clone().requires_grad_()
            rows = self.answers(leaf, [aim.example for aim in some])
            here = [Aim(place, aim.target, aim.score) for place, aim in enumerate(some)]
            (gradients,) = input_gradients(leaf, rows, here)
            found += gradients
        return torch.stack(found).float()


def explained(model: nn.Module, inputs: Inputs, layer: str | nn.Module | None) -> Explained:
    """The first tensor given, or where it holds tokens the output of the layer that embeds them."""
    model_input = main_input(model, inputs, lambda each: True, "an input")
    tokens = model_input.tensor
    if tokens.is_floating_point():
        if layer is not None:
            raise UsageError("layer= names what embeds tokens, but the input holds numbers already: leave it out.")
        # [channels, height, width] for a model of images, or a single row of numbers.
        images = any(isinstance(module, nn.Conv2d) for module in model.modules())
        model_input = (
            with_batch_of_one(model_input) if tokens.dim() == 1 or (tokens.dim() == 3 and images) else model_input
        )
        return Explained(model, model_input, model_input.tensor.detach())
    chosen = _embedding_of(model, model_input) if layer is None else one_layer(model, layer)
    seen: list[torch.Tensor] = []

    def hear(call: str, module: nn.Module, taken: Any, output: Any) -> None:
        seen.extend(tensor.detach().clone() for tensor in tensors_in(output))

    with torch.no_grad(), listening(dict([chosen]), hear):
        model_input.ask(model)
    fits = seen and seen[0].is_floating_point() and seen[0].dim() == 3
    if not fits or seen[0].shape[:2] != tokens.shape[:2]:
        gave = f"gave {list(seen[0].shape)}" if seen else "was not called"
        raise UsageError(
            f"layer `{chosen[0]}` {gave} for tokens of {list(tokens.shape)}: expected a layer that embeds"
            " them, [examples, tokens, numbers]."
        )
    return Explained(model, model_input, seen[0], chosen)


def repeated(aims: Sequence[Aim], times: int) -> list[Aim]:
    """Each aim for several points in a row."""
    return [aim for aim in aims for _ in range(times)]


def _embedding_of(model: nn.Module, model_input: MainInput) -> tuple[str, nn.Module]:
    """The first embedding that is called with these very tokens."""
    found: list[tuple[str, nn.Module]] = []
    embeddings: dict[str, nn.Module] = {
        clean_path(path): each for path, each in model.named_modules() if isinstance(each, nn.Embedding)
    }

    def hear(call: str, module: nn.Module, taken: Any, output: Any) -> None:
        tokens = first_tensor(taken)
        if tokens is not None and tokens.shape == model_input.tensor.shape and torch.equal(tokens, model_input.tensor):
            found.append((call.partition("#")[0], module))

    if embeddings:
        with torch.no_grad(), listening(embeddings, hear):
            model_input.ask(model)
    if not found:
        raise UsageError(
            f"the input is of {model_input.tensor.dtype}, which has no gradient, and no nn.Embedding takes it as"
            " it is: give floating point numbers, such as images.float(), or name the layer that embeds it as"
            " layer=."
        )
    return found[0]


# What stands for nothing in place of an input.
def baseline_for(explained_input: Explained, baseline: Any) -> torch.Tensor:
    """Of the shape of `explained_input.value`: from a number, a tensor that fits, or the ids of tokens."""
    value = explained_input.value
    if baseline is None:
        return torch.zeros_like(value)
    baseline_tensor = torch.as_tensor(baseline, device=value.device)
    if explained_input.embedding is not None and not baseline_tensor.is_floating_point():
        path, module = explained_input.embedding
        if not isinstance(module, nn.Embedding):
            raise UsageError(
                f"layer `{path}` is no nn.Embedding: give the baseline as its output, {list(value.shape)}."
            )
        most = module.num_embeddings - 1
        if baseline_tensor.numel() and not 0 <= int(baseline_tensor.min()) <= int(baseline_tensor.max()) <= most:
            raise UsageError(
                f"the baseline holds token {int(baseline_tensor.max())}, but layer `{path}` knows 0 to {most}."
            )
        with torch.no_grad():
            baseline_tensor = module(baseline_tensor)
    try:
        return baseline_tensor.detach().to(value.dtype).expand_as(value)
    except RuntimeError:
        raise UsageError(
            f"the baseline is {list(baseline_tensor.shape)} and does not fit the input, {list(value.shape)}."
        ) from None
