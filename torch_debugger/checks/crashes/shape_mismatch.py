"""TD901: two shapes met that do not fit."""

from __future__ import annotations

from torch_debugger.checks.explainers.crash_check import CrashCheck
from torch_debugger.checks.explainers.shapes.attention_shapes import explain_attention
from torch_debugger.checks.explainers.shapes.collate_shapes import explain_collate
from torch_debugger.checks.explainers.shapes.conv_shapes import explain_conv
from torch_debugger.checks.explainers.shapes.ctc_shapes import explain_ctc
from torch_debugger.checks.explainers.shapes.dimension_shapes import explain_dimensions
from torch_debugger.checks.explainers.shapes.elementwise_shapes import explain_elementwise
from torch_debugger.checks.explainers.shapes.indexed_shapes import explain_indexed
from torch_debugger.checks.explainers.shapes.join_shapes import explain_join
from torch_debugger.checks.explainers.shapes.kernel_shapes import explain_kernel
from torch_debugger.checks.explainers.shapes.layer_settings import naming_the_layer
from torch_debugger.checks.explainers.shapes.linear_shapes import explain_linear
from torch_debugger.checks.explainers.shapes.loss_shapes import explain_loss_shapes
from torch_debugger.checks.explainers.shapes.lost_rows import explain_lost_rows
from torch_debugger.checks.explainers.shapes.memory_order import explain_memory_order
from torch_debugger.checks.explainers.shapes.norm_shapes import explain_norm
from torch_debugger.checks.explainers.shapes.packed_sequences import explain_packing
from torch_debugger.checks.explainers.shapes.pool_shapes import explain_pool, explain_unflatten
from torch_debugger.checks.explainers.shapes.product_shapes import explain_product
from torch_debugger.checks.explainers.shapes.sequence_shapes import explain_sequence
from torch_debugger.checks.explainers.shapes.shape_flow import showing_flow
from torch_debugger.checks.explainers.shapes.state_shapes import explain_state
from torch_debugger.checks.explainers.shapes.swapped_sizes import explain_swapped_sizes
from torch_debugger.checks.explainers.shapes.view_shapes import explain_view


class ShapeMismatch(CrashCheck):
    """Two shapes met that do not fit each other.

    Symptom:
        The script stops with an error about sizes: "mat1 and mat2 shapes cannot be multiplied",
        "expected input to have 3 channels", "The size of tensor a must match the size of tensor b";
        or about their order: "view size is not compatible with input tensor's size and stride", or lengths
        that pack_padded_sequence does not take.
    Evidence:
        The expression that raised (Python 3.11 and later tell which it is), the shapes in the frames of
        the traceback, what the layer was built for and the lines that build it, and the shapes that flowed
        through the model up to the crash, from running its forward once more; the last of them are shown.
        Two sizes that may have been given to a constructor in the wrong order are tried in the other, and a
        convolution whose padding may make its result a size too small or too large is tried with another.
        The exception's message alone is not enough.
    Fix:
        Change the constructor's argument, or the form of the tensor, as the finding says; the line to
        edit and the numbers are filled in where they are plain.
    Known limits:
        Operators are read from one statement. Where two ways out are as likely, both are named and no
        edit is offered; so are sizes that serve several layers of a loop. Compiled and very large models
        have no shape flow. An index out of range is not a matter of shape.
    """

    id = "TD901"
    name = "shape-mismatch"
    title = "two shapes met that do not fit each other"
    explainers = tuple(
        showing_flow(naming_the_layer(explain))
        for explain in (
            explain_swapped_sizes,
            explain_linear,
            explain_conv,
            explain_pool,
            explain_unflatten,
            explain_norm,
            explain_packing,
            explain_sequence,
            explain_state,
            explain_attention,
            explain_loss_shapes,
            explain_product,
            explain_elementwise,
            explain_join,
            explain_lost_rows,
            explain_view,
            explain_memory_order,
            explain_kernel,
            explain_indexed,
            explain_dimensions,
            explain_ctc,
            explain_collate,
        )
    )
