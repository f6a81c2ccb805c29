"""Gradients that autograd computes, compared with differences of the function itself."""
