"""Writes two settings with what came of them."""

from torch.utils.tensorboard import SummaryWriter

for rate, size, accuracy, loss in ((0.05, 16, 0.81, 0.52), (0.005, 48, 0.88, 0.31)):
    with SummaryWriter(f"runs/rate_{rate}") as writer:
        writer.add_hparams({"lr": rate, "batch_size": size}, {"hparam/accuracy": accuracy, "hparam/loss": loss})
