import pytest
import torch

from vdr_spark.denoise.models.vqvae import Vqvae


@pytest.mark.parametrize(("side", "coarse"), [(2, 1), (16, 4), (18, 5), (33, 9)])
def test_any_side_is_reconstructed_at_its_size_from_a_quarter_of_the_resolution(side: int, coarse: int) -> None:
    output = Vqvae(codes=16, channels=8)(torch.randn(3, 1, side, side))
    assert output.reconstruction.shape == (3, 1, side, side)
    assert output.indices.shape == (3, coarse, coarse)
    assert output.regularisation.shape == ()


def test_the_paper_s_sizes() -> None:
    model = Vqvae()
    assert model.quantizer.codebook.shape == (128, 64)
    assert model.encoder(torch.zeros(1, 1, 16, 16)).shape == (1, 64, 4, 4)


def test_the_padding_repeats_the_edge() -> None:
    """A slice and the same slice with its last row and column repeated by hand are drawn alike."""
    model = Vqvae(codes=16, channels=8).eval()
    x = torch.randn(1, 1, 7, 7)
    longer = torch.cat([x, x[..., -1:]], dim=-1)
    longer = torch.cat([longer, longer[..., -1:, :]], dim=-2)  # (1, 1, 8, 8)
    torch.testing.assert_close(model(x).reconstruction, model(longer).reconstruction[..., :7, :7])


def test_reconstruction_depends_on_the_input_through_the_codes_only() -> None:
    """Two slices with equal codes are drawn equal: the noise within a code's reach is gone."""
    torch.manual_seed(0)
    model = Vqvae(codes=16, channels=8).eval()
    x = torch.randn(1, 1, 16, 16)
    first, second = model(x), model(x + 1e-4 * torch.randn_like(x))
    assert torch.equal(first.indices, second.indices)
    torch.testing.assert_close(first.reconstruction, second.reconstruction, rtol=0, atol=1e-5)


def test_every_weight_gets_a_gradient_through_the_codebook() -> None:
    model = Vqvae(codes=16, channels=8)
    model(torch.randn(2, 1, 16, 16)).reconstruction.square().sum().backward()
    still = [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert still == []
