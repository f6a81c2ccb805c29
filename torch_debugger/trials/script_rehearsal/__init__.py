"""What a script still has ahead of it at its first backward, gone through once on a pretended accelerator."""
