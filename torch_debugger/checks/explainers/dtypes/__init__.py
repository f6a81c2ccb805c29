"""A tensor of the wrong dtype, in a layer, a loss or an operator."""
