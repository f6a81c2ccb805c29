"""How large the gradients of each layer are."""
