"""Against PyTorch's batch normalisation; over several processes, tests/denoise/priors/test_distributed.py compares."""

import torch

from vdr_spark.denoise.networks.standardise import Standardise


def batch(seed: int) -> torch.Tensor:
    torch.manual_seed(seed)
    return 3 + torch.tensor([1.0, 5.0, 0.1])[:, None, None] * torch.randn(4, 3, 6, 5)


def test_a_batch_and_its_gradient_are_those_of_batch_normalisation() -> None:
    ours, theirs = (batch(0).requires_grad_() for _ in range(2))
    weights = torch.randn(4, 3, 6, 5)
    made = Standardise(3)(ours)
    expected = torch.nn.BatchNorm2d(3, affine=False)(theirs)
    torch.testing.assert_close(made, expected, rtol=1e-3, atol=1e-4)
    (made * weights).sum().backward()
    (expected * weights).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-2, atol=1e-3)


def test_without_a_batch_the_mean_over_those_seen_stands_for_it() -> None:
    norm = Standardise(3)
    for seed in range(3):
        norm(batch(seed))
    together = torch.stack([batch(seed) for seed in range(3)])  # (3, 4, 3, 6, 5)
    torch.testing.assert_close(norm.mean, together.mean((0, 1, 3, 4)), rtol=1e-4, atol=1e-4)
    one = norm.eval()(batch(7))
    torch.testing.assert_close(one[:1], norm(batch(7)[:1]))  # no matter what it comes with
    assert one.std((0, 2, 3)).sub(1).abs().max() < 0.3


def test_a_new_one_that_has_seen_nothing_changes_nothing() -> None:
    torch.testing.assert_close(Standardise(3).eval()(batch(0)), batch(0), rtol=1e-4, atol=1e-4)


def test_an_empty_batch_is_not_looked_at() -> None:
    norm = Standardise(3)
    norm(batch(0))
    before = norm.mean.clone()
    assert norm(torch.empty(0, 3, 6, 5)).shape == (0, 3, 6, 5)
    assert torch.equal(norm.mean, before)
    assert norm.batches == 1
