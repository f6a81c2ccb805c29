"""One unit of a layer: where it is in the output, and a forward that ends there."""
