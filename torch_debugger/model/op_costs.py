"""What one operation costs: multiply-accumulates, other arithmetic, and bytes read and written."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from torch_debugger.model.macs import ATTENTION, CONVOLUTIONS, MATRIX_PRODUCTS, RECURRENCES, Formula, UnknownSizeError
from torch_debugger.model.nested_tensors import tensors_in

PRODUCTS: dict[str, Formula] = {**MATRIX_PRODUCTS, **CONVOLUTIONS, **ATTENTION, **RECURRENCES}
_REAL_MACS_OF_A_COMPLEX_ONE = 4  # (a + bi)(c + di): four products, each added to a sum
_QUERIES = ("prim", "profiler", "debugprims")  # namespaces of operations that ask or note something


class Cost(NamedTuple):
    macs: int
    elementwise: int  # FLOPs
    bytes: int
    counted: bool
    dtype: torch.dtype | None  # of the factors of a product


FREE = Cost(0, 0, 0, True, None)


def cost_of(func: Any, args: Sequence[Any], kwargs: dict[str, Any], made: Any) -> Cost:
    """From shapes and dtypes alone; operations that nobody told us about are not counted and say so."""
    name = operation_name(func)
    kind = _kind(func)
    if kind == "nothing":
        return FREE
    inputs, results = list(tensors_in((args, kwargs))), list(tensors_in(made))
    size = _bytes(name, inputs, results)
    if kind == "product":
        return _product(name, _in_order(func, args, kwargs), made, size, inputs)
    if kind == "bag":  # of the table only the rows that are asked for
        read = args[1].numel() * args[0].shape[-1]
        read_bytes = read * args[0].element_size() + _size(args[1])
        return Cost(0, read, read_bytes + _size(results[0]), True, None)
    if kind == "elementwise":
        return Cost(0, sum(tensor.numel() for tensor in (results or inputs)[:1]), size, True, None)
    if kind == "reduction":
        return Cost(0, inputs[0].numel() if inputs else 0, size, True, None)
    return Cost(0, 0, size, kind == "movement", None)


def _product(name: str, args: tuple[Any, ...], made: Any, size: int, inputs: list[torch.Tensor]) -> Cost:
    try:
        macs = PRODUCTS[name](args, made)
    except UnknownSizeError:
        return Cost(0, 0, size, False, None)
    dtype = inputs[min(1, len(inputs) - 1)].dtype
    factor = _REAL_MACS_OF_A_COMPLEX_ONE if dtype.is_complex else 1
    return Cost(macs * factor, 0, size, True, dtype)


@functools.cache
def operation_name(func: Any) -> str:
    """mm for aten::mm.default, add for add_; with its namespace where it is not torch's own."""
    packet = getattr(func, "overloadpacket", None)
    if packet is None:
        return str(getattr(func, "name", lambda: func)())
    name = str(packet.__name__)
    if func.namespace != "aten":
        return f"{func.namespace}::{name}"
    return name.rstrip("_") if not name.startswith("__") else name.strip("_")


@functools.cache
def _kind(func: Any) -> str:
    name = operation_name(func)
    for kind, names in (
        ("product", PRODUCTS),
        ("nothing", NOTHING),
        ("movement", MOVEMENT),
        ("bag", BAGS),
        ("reduction", REDUCTIONS),
        ("elementwise", ELEMENTWISE),
    ):
        if name in names:
            return kind
    if getattr(func, "namespace", "") in _QUERIES or is_view(func):
        return "nothing"
    if name.endswith("_copy"):  # view_copy: what would be a view, as a tensor of its own
        return "movement"
    return "elementwise" if _is_pointwise(func) else "unknown"


@functools.cache
def is_view(func: Any) -> bool:
    """It gives back memory that it was given, and does not write into it."""
    schema = getattr(func, "_schema", None)
    aliases = [result.alias_info for result in schema.returns] if schema else []
    return any(alias is not None and not alias.is_write for alias in aliases)


def _is_pointwise(func: Any) -> bool:
    """An in-place or foreach form may lack the tag that the plain one has."""
    if torch.Tag.pointwise in getattr(func, "tags", ()):
        return True
    if getattr(func, "namespace", "") != "aten":
        return False
    plain = getattr(torch.ops.aten, operation_name(func).removeprefix("_foreach_"), None)
    overloads = plain.overloads() if plain is not None else []
    return any(torch.Tag.pointwise in getattr(plain, each).tags for each in overloads)


def _bytes(name: str, inputs: list[torch.Tensor], made: list[torch.Tensor]) -> int:
    """Each operand once; nothing is known of caches and of what a compiler would fuse."""
    if name in RECURRENCES:  # without the workspace that a kernel keeps for its backward
        inputs, made = ([tensor for tensor in some if tensor.dtype != torch.uint8] for some in (inputs, made))
    written = sum(_size(tensor) for tensor in made)
    if name in READS_WHAT_IT_MAKES:
        return written * 2 + sum(_size(tensor) for tensor in inputs[1:])
    return written + sum(_size(tensor) for tensor in inputs)


def _size(tensor: torch.Tensor) -> int:
    count = tensor.numel() if tensor.layout is torch.strided else tensor._nnz()
    return count * tensor.element_size()


def _in_order(func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Operands that were given by name stand where the schema has them."""
    schema = getattr(func, "_schema", None)
    if not kwargs or schema is None:
        return tuple(args)
    missing = object()
    rest = [kwargs.get(each.name, missing) for each in schema.arguments[len(args) :]]
    while rest and rest[-1] is missing:
        rest.pop()
    return (*args, *(None if each is missing else each for each in rest))


# What is computed besides products: which operations do arithmetic, and which only move numbers or make views.
#
# The convention is simple and stated: one FLOP for each element that is made; for reductions and for what normalises,
# one for each element that is read.
def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


# One FLOP an element made. Operations that torch tags as pointwise need not be named.
ELEMENTWISE = _names(
    """
    _adaptive_avg_pool2d _adaptive_avg_pool2d_backward _adaptive_avg_pool3d _adaptive_avg_pool3d_backward
    _embedding_bag_backward _embedding_bag_dense_backward _log_softmax_backward_data
    _masked_softmax_backward _prelu_kernel _prelu_kernel_backward _softmax_backward_data
    _standard_gamma _standard_gamma_grad _thnn_fused_gru_cell _thnn_fused_gru_cell_backward
    _thnn_fused_lstm_cell _thnn_fused_lstm_cell_backward_impl _transform_bias_rescale_qkv _weight_norm_interface
    _weight_norm_interface_backward adaptive_max_pool2d adaptive_max_pool2d_backward adaptive_max_pool3d
    adaptive_max_pool3d_backward addr affine_grid_generator avg_pool2d avg_pool2d_backward avg_pool3d
    avg_pool3d_backward batch_norm_backward batch_norm_backward_elemt batch_norm_elemt bernoulli
    binary_cross_entropy_backward col2im complex cudnn_affine_grid_generator
    cudnn_batch_norm_backward cudnn_grid_sampler cudnn_grid_sampler_backward cumprod cumsum cummax cummin
    elu_backward embedding_dense_backward embedding_renorm exponential floor_divide fractional_max_pool2d
    fractional_max_pool2d_backward fractional_max_pool3d fractional_max_pool3d_backward gelu glu glu_backward
    grid_sampler_2d grid_sampler_2d_backward grid_sampler_3d grid_sampler_3d_backward hardshrink_backward
    hardsigmoid_backward hardswish hardswish_backward hardtanh_backward huber_loss_backward index_add
    leaky_relu_backward linalg_cross linspace log_sigmoid_backward log_sigmoid_forward logcumsumexp
    max_pool2d_backward max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d_with_indices
    max_pool3d_with_indices_backward mse_loss_backward native_batch_norm_backward native_dropout
    native_dropout_backward native_group_norm_backward native_layer_norm_backward _fused_rms_norm_backward
    nll_loss2d_backward nll_loss_backward normal polar rand rand_like randint randint_like randn randn_like
    random randperm renorm rrelu_with_noise rrelu_with_noise_backward rsub scatter_add scatter_reduce
    smooth_l1_loss_backward soft_margin_loss_backward softplus_backward softshrink_backward threshold
    uniform upsample_bicubic2d upsample_bicubic2d_backward upsample_bilinear2d upsample_bilinear2d_backward
    upsample_linear1d upsample_linear1d_backward upsample_trilinear3d upsample_trilinear3d_backward
    _upsample_bicubic2d_aa _upsample_bicubic2d_aa_backward _upsample_bilinear2d_aa
    _upsample_bilinear2d_aa_backward _fused_dropout _masked_scale
    _add_relu _embedding_bag_per_sample_weights_backward _fake_quantize_learnable_per_channel_affine
    _fake_quantize_learnable_per_channel_affine_backward _fake_quantize_learnable_per_tensor_affine
    _fake_quantize_learnable_per_tensor_affine_backward _sample_dirichlet _segment_reduce_backward
    _fake_quantize_per_tensor_affine_cachemask_tensor_qparams adaptive_avg_pool1d adaptive_avg_pool2d
    adaptive_avg_pool3d avg_pool1d bartlett_window binomial blackman_window cauchy dequantize
    fake_quantize_per_channel_affine_cachemask fake_quantize_per_tensor_affine_cachemask fft_fftfreq
    fft_rfftfreq geometric hamming_window hann_window index_reduce kaiser_window log_normal logspace lshift
    miopen_batch_norm_backward mish_backward multi_margin_loss_backward multilabel_margin_loss_backward
    multinomial poisson quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic range
    rrelu_with_noise_functional rshift
    """
)

# One FLOP an element read: the first tensor among the arguments.
REDUCTIONS = _names(
    """
    _aminmax _batch_norm_no_update _batch_norm_with_update _batch_norm_with_update_functional
    _fused_rms_norm _log_softmax _masked_softmax
    _native_batch_norm_legit _native_batch_norm_legit_functional _native_batch_norm_legit_no_training
    _safe_softmax _softmax all amax amin aminmax any argmax argmin batch_norm_backward_reduce
    batch_norm_stats batch_norm_update_stats binary_cross_entropy binary_cross_entropy_with_logits
    count_nonzero cudnn_batch_norm dist huber_loss kthvalue linalg_vector_norm logsumexp max mean median min
    miopen_batch_norm mse_loss multi_margin_loss multilabel_margin_loss_forward nanmedian nansum
    native_batch_norm native_group_norm native_layer_norm nll_loss2d_forward nll_loss_forward norm prod
    _foreach_norm batch_norm_gather_stats batch_norm_gather_stats_with_counts log_softmax mode segment_reduce
    softmax
    smooth_l1_loss soft_margin_loss sort std std_mean sum topk trace var var_mean _is_all_true _is_any_true
    """
)

# Numbers that are moved, chosen or filled in: no FLOP, but bytes.
MOVEMENT = _names(
    """
    _to_dense _to_sparse _to_sparse_csr _to_sparse_csc _to_sparse_bsr _to_sparse_bsc _coalesce
    _chunk_cat _copy_from _pack_padded_sequence _pin_memory _reshape_copy _stack _to_copy _unsafe_index
    _unsafe_index_put _unsafe_masked_index _unsafe_masked_index_put_accumulate arange as_strided_scatter
    block_diag cat channel_shuffle clone constant_pad_nd copy diag_embed diagonal_backward diagonal_scatter
    embedding eye fill flip full full_like gather im2col index index_copy index_fill index_put
    index_select masked_fill masked_scatter masked_scatter_backward masked_select max_unpool2d max_unpool3d
    narrow_copy new_full new_ones new_zeros nonzero one_hot ones ones_like pixel_shuffle pixel_unshuffle put
    reflection_pad1d reflection_pad1d_backward reflection_pad2d reflection_pad2d_backward reflection_pad3d
    reflection_pad3d_backward repeat repeat_interleave replication_pad1d replication_pad1d_backward
    replication_pad2d replication_pad2d_backward replication_pad3d replication_pad3d_backward roll rot90
    scatter select_backward select_scatter slice_backward slice_scatter stack take tril triu tril_indices
    triu_indices unfold_backward upsample_nearest1d upsample_nearest1d_backward upsample_nearest2d
    upsample_nearest2d_backward upsample_nearest3d upsample_nearest3d_backward
    _upsample_nearest_exact1d _upsample_nearest_exact2d _upsample_nearest_exact3d
    _upsample_nearest_exact1d_backward _upsample_nearest_exact2d_backward _upsample_nearest_exact3d_backward
    where zero zeros zeros_like bucketize searchsorted histc bincount isin nonzero_static to_padded_tensor
    _foreach_copy _foreach_zero _index_put_impl _unique _unique2 unique_consecutive unique_dim
    unique_dim_consecutive _nested_from_padded _nested_tensor_from_mask sparse_mask
    _nested_tensor_from_tensor_list
    _jagged_to_padded_dense_forward _padded_dense_to_jagged_forward
    """
)
# Of these only as much is read as comes out: a row of an embedding, not the whole table.
READS_WHAT_IT_MAKES = _names("embedding gather index index_select _unsafe_index take")

# Rows of a table, chosen by indices and added up.
BAGS = _names("_embedding_bag _embedding_bag_forward_only")

# Views of what is there, questions about it, and memory that is not filled.
NOTHING = _names(
    """
    _linalg_check_errors
    _assert_async _assert_scalar _assert_tensor_metadata _efficientzerotensor _fused_sdp_choice
    _has_same_storage_numel _local_scalar_dense _reshape_alias _resize_output _unsafe_view
    _functional_assert_async _nested_tensor_size _nested_tensor_strides _nested_tensor_storage_offsets
    _nnz _version _cudnn_rnn_flatten_weight as_strided detach empty empty_like empty_permuted empty_strided
    equal is_coalesced is_pinned is_same_size is_set_to item lift lift_fresh lift_fresh_copy new_empty
    new_empty_strided record_stream resize resize_as scalar_tensor set squeeze t transpose unsqueeze
    view unsafe_split unsafe_split_with_sizes unsafe_chunk sym_constrain_range sym_constrain_range_for_size
    data_ptr storage_offset stride size numel dim allclose dense_dim sparse_dim q_scale q_zero_point
    _use_cudnn_ctc_loss _nested_tensor_from_mask_left_aligned _nested_get_offsets _nested_get_lengths
    _nested_get_min_seqlen _nested_get_max_seqlen _nested_get_ragged_idx
    """
)
