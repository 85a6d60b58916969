"""The quantiser against a NumPy version written from the paper's formulas."""

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from vdr_spark.denoise.networks.vector_quantizer import VectorQuantizer, perplexity

K, D = 6, 3


def quantizer(rng: np.random.Generator, **settings: float) -> VectorQuantizer:
    """A codebook in use: every code has won vectors before, so none is dead."""
    vq = VectorQuantizer(K, D, **settings)
    size = rng.uniform(5, 20, K)
    codes = rng.normal(size=(K, D))
    vq.codebook.copy_(torch.tensor(codes))
    vq.cluster_size.copy_(torch.tensor(size))
    vq.cluster_sum.copy_(torch.tensor(codes * size[:, None]))
    return vq


def images(rng: np.random.Generator) -> torch.Tensor:
    return torch.tensor(rng.normal(size=(2, D, 4, 5)), dtype=torch.float32)


def flat(x: torch.Tensor) -> np.ndarray:
    return x.detach().numpy().transpose(0, 2, 3, 1).reshape(-1, D).astype(np.float64)


def nearest(vectors: np.ndarray, codes: np.ndarray) -> np.ndarray:
    return np.array([np.argmin([np.sum((vector - code) ** 2) for code in codes]) for vector in vectors])


def test_each_vector_is_replaced_by_its_nearest_code() -> None:
    rng = np.random.default_rng(1)
    vq, x = quantizer(rng).eval(), images(rng)
    codes = vq.codebook.numpy().astype(np.float64)
    quantized, indices, _ = vq(x)
    expected = nearest(flat(x), codes)
    assert indices.shape == (2, 4, 5)
    assert len(set(expected)) > 3  # or the comparison would say little
    np.testing.assert_array_equal(indices.numpy().ravel(), expected)
    np.testing.assert_allclose(flat(quantized), codes[expected], atol=1e-6)


def test_loss_is_the_weighted_distance_to_the_code_and_pulls_vectors_towards_it() -> None:
    rng = np.random.default_rng(2)
    vq, x = quantizer(rng, commitment_weight=0.7).eval(), images(rng).requires_grad_()
    _, indices, loss = vq(x)
    gap = flat(x) - vq.codebook.numpy()[indices.numpy().ravel()]
    assert loss.item() == pytest.approx(0.7 * np.mean(gap**2), rel=1e-5)
    loss.backward()
    np.testing.assert_allclose(flat(x.grad), 0.7 * 2 * gap / gap.size, atol=1e-6)


def test_one_step_moves_codes_by_the_moving_average() -> None:
    rng = np.random.default_rng(3)
    vq, x = quantizer(rng, ema_decay=0.9), images(rng)
    codes, size, total = (
        tensor.numpy().astype(np.float64) for tensor in (vq.codebook, vq.cluster_size, vq.cluster_sum)
    )
    won = nearest(flat(x), codes)
    for code in range(K):
        mine = flat(x)[won == code]
        size[code] = 0.9 * size[code] + 0.1 * len(mine)
        total[code] = 0.9 * total[code] + 0.1 * mine.sum(0)
    local_mean = (size + 1e-5) / (size.sum() + K * 1e-5) * size.sum()
    vq.train()(x)
    np.testing.assert_allclose(vq.cluster_size.numpy(), size, rtol=1e-5)
    np.testing.assert_allclose(vq.codebook.numpy(), total / local_mean[:, None], rtol=1e-4, atol=1e-6)


def test_laplace_smoothing_takes_tiny_clusters_for_equal_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VectorQuantizer, "_revive", lambda *_, **__: None)  # would replace codes of such sizes
    vq = VectorQuantizer(2, 1, ema_decay=0.999999999)
    sizes = np.array([1e-7, 9e-7])  # tiny beside the smoothing constant, so as good as 5e-7 each
    vq.codebook.copy_(torch.tensor([[-1.0], [1.0]]))
    vq.cluster_size.copy_(torch.tensor(sizes))
    vq.cluster_sum.copy_(torch.tensor([[-1e-7], [9e-7]]))
    vq.train()(torch.ones(1, 1, 1, 1))
    np.testing.assert_allclose(vq.codebook[:, 0], [-0.2, 1.8], rtol=0.1)


def test_gradient_passes_straight_through() -> None:
    rng = np.random.default_rng(4)
    vq, x = quantizer(rng), images(rng).requires_grad_()
    weights = torch.tensor(rng.normal(size=x.shape), dtype=torch.float32)
    quantized, _, _ = vq(x)
    (quantized * weights).sum().backward()
    torch.testing.assert_close(x.grad, weights)


def test_the_codebook_stands_still_outside_training() -> None:
    rng = np.random.default_rng(5)
    vq = quantizer(rng).eval()
    before = {name: tensor.clone() for name, tensor in vq.state_dict().items()}
    vq(images(rng))
    for name, tensor in vq.state_dict().items():
        torch.testing.assert_close(tensor, before[name], rtol=0, atol=0)


def test_dead_codes_come_back_as_vectors_of_the_batch() -> None:
    rng = np.random.default_rng(6)
    vq, x = quantizer(rng), images(rng)
    vq.codebook[2] = 1e6  # so far away that it wins nothing
    vq.cluster_size[2] = 0.1
    vq.train()(x)
    distance = np.abs(flat(x) - vq.codebook[2].numpy()).max(1)
    assert distance.min() < 1e-6
    living = [0, 1, 3, 4, 5]
    for code in living:
        assert np.abs(flat(x) - vq.codebook[code].numpy()).max(1).min() > 1e-4


def test_a_new_codebook_begins_where_the_data_are() -> None:
    vq = VectorQuantizer(K, D)
    x = images(np.random.default_rng(7)) + 100  # far from the random codes
    vq.train()(x)
    assert (vq.codebook > 90).all()


def test_perplexity_counts_codes_in_even_use() -> None:
    assert perplexity(torch.tensor([5.0, 0.0, 0.0])) == pytest.approx(1)
    assert perplexity(torch.tensor([3, 3, 3, 3])) == pytest.approx(4)
    assert perplexity(torch.tensor([1.0, 3.0])) == pytest.approx(np.exp(-0.25 * np.log(0.25) - 0.75 * np.log(0.75)))


def test_it_learns_as_an_independent_implementation_does() -> None:
    """Codes, choices, output and loss over several steps, beside vector-quantize-pytorch."""
    from vector_quantize_pytorch import VectorQuantize

    rng = np.random.default_rng(8)
    ours = quantizer(rng, ema_decay=0.9, commitment_weight=0.25)
    theirs = VectorQuantize(
        dim=D,
        codebook_size=K,
        decay=0.9,
        commitment_weight=0.25,
        eps=1e-5,
        threshold_ema_dead_code=0,
        rotation_trick=False,  # straight through, as in the paper
        accept_image_fmap=True,
    )
    book = theirs._codebook
    book.embed.data.copy_(ours.codebook[None])
    book.cluster_size.data.copy_(ours.cluster_size[None])
    book.embed_avg.data.copy_(ours.cluster_sum[None])
    book.initted.data.fill_(True)
    for _ in range(5):
        x = images(rng)
        mine, yours = x.clone().requires_grad_(), x.clone().requires_grad_()
        quantized, indices, loss = ours.train()(mine)
        their_quantized, their_indices, their_loss = theirs.train()(yours)
        assert torch.equal(indices, their_indices)
        torch.testing.assert_close(quantized, their_quantized)
        torch.testing.assert_close(loss, their_loss.squeeze())
        (quantized.square().sum() + loss).backward()
        (their_quantized.square().sum() + their_loss.sum()).backward()
        torch.testing.assert_close(mine.grad, yours.grad)
        torch.testing.assert_close(ours.codebook, book.embed[0])
        torch.testing.assert_close(ours.cluster_size, book.cluster_size[0])


class Products(TorchDispatchMode):
    """Records the types in which matrices are multiplied, below autocast."""

    def __init__(self) -> None:
        super().__init__()
        self.types: list[torch.dtype] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func.overloadpacket in (torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.bmm):
            self.types.append(args[0].dtype)
        return func(*args, **(kwargs or {}))


def test_distances_are_exact_also_in_mixed_precision() -> None:
    """bfloat16 has three digits: codes that lie closer than that would be confused.

    Fake tensors compute nothing: bfloat16 products kill the process on some processors.
    """
    with FakeTensorMode(), Products() as products, torch.autocast("cpu", dtype=torch.bfloat16):
        vq = VectorQuantizer(4, 3)
        assert (torch.ones(2, 3) @ torch.ones(3, 2)).dtype == torch.bfloat16  # autocast is at work
        quantized, _, loss = vq.eval()(torch.ones(1, 3, 2, 2).bfloat16())
        vq._sum_wins(torch.ones(4, 3), torch.zeros(4, dtype=torch.long))
    assert products.types == [torch.bfloat16, torch.float32, torch.float32]
    assert loss.dtype == quantized.dtype == torch.float32
