// Losses by the names that scripts give them; autograd's own are others.
const LOSSES: Record<string, string> = {
  NllLoss: "cross_entropy",
  NllLoss2D: "cross_entropy",
  BinaryCrossEntropyWithLogits: "binary_cross_entropy_with_logits",
  BinaryCrossEntropy: "binary_cross_entropy",
  MseLoss: "mse_loss",
  SmoothL1Loss: "smooth_l1_loss",
  HuberLoss: "huber_loss",
  Pow: "(output - target) ** 2",
  Abs: "abs(output - target)",
};

export function lossWord(name: string): string {
  return LOSSES[name] ?? name;
}
