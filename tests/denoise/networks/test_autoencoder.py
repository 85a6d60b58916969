import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from vdr_spark.denoise.networks.autoencoder import Autoencoder, vae, vqvae


def small(kind: str) -> Autoencoder:
    return vqvae(codebook_size=16, channels=8) if kind == "vqvae" else vae(channels=8)


@pytest.mark.parametrize("kind", ["vqvae", "vae"])
@pytest.mark.parametrize(("side", "coarse"), [(2, 1), (16, 4), (18, 5), (33, 9)])
def test_any_side_is_reconstructed_from_a_quarter_of_the_resolution(kind: str, side: int, coarse: int) -> None:
    output = small(kind)(torch.randn(3, 1, side, side))
    assert output.reconstruction.shape == (3, 1, side, side)
    assert output.regularisation.shape == ()
    if kind == "vqvae":
        assert output.indices.shape == (3, coarse, coarse)
    else:
        assert output.indices is None


def test_the_paper_s_sizes() -> None:
    model = vqvae()
    assert model.bottleneck.codebook.shape == (128, 64)
    assert model.encoder(torch.zeros(1, 1, 16, 16)).shape == (1, 64, 4, 4)


def test_a_new_model_tells_places_apart_and_passes_their_variance_on() -> None:
    """With PyTorch's own weights they differ by 0.02, a quarter of what they have in common."""
    torch.manual_seed(0)
    model = vqvae().eval()
    with torch.inference_mode():
        places = model.encoder(torch.randn(4, 1, 64, 64))  # (4, 64, 16, 16)
        image = model.decoder(torch.randn(4, 64, 16, 16))
    apart = places.std(dim=(0, 2, 3)).mean()
    assert 0.1 < apart < 3
    assert apart > places.mean(dim=(0, 2, 3)).abs().mean()
    assert 0.3 < image.std() < 3


def test_both_have_the_same_encoder_and_decoder() -> None:
    def sizes(part: torch.nn.Module) -> dict[str, torch.Size]:
        return {name: weight.shape for name, weight in part.state_dict().items()}

    one, other = vqvae(), vae()
    assert sizes(one.encoder) == sizes(other.encoder)
    assert sizes(one.decoder) == sizes(other.decoder)


def test_the_padding_repeats_the_edge() -> None:
    """A slice and the same slice with its last row and column repeated by hand give the same."""
    model = vqvae(codebook_size=16, channels=8).eval()
    x = torch.randn(1, 1, 7, 7)
    longer = torch.cat([x, x[..., -1:]], dim=-1)
    longer = torch.cat([longer, longer[..., -1:, :]], dim=-2)  # (1, 1, 8, 8)
    torch.testing.assert_close(model(x).reconstruction, model(longer).reconstruction[..., :7, :7])


def test_reconstruction_depends_on_the_input_through_the_codes_only() -> None:
    """Two slices with equal codes are reconstructed equal: the noise within a code's reach is gone."""
    torch.manual_seed(0)
    model = vqvae(codebook_size=16, channels=8).eval()
    x = torch.randn(1, 1, 16, 16)
    first, second = model(x), model(x + 1e-4 * torch.randn_like(x))
    assert torch.equal(first.indices, second.indices)
    torch.testing.assert_close(first.reconstruction, second.reconstruction, rtol=0, atol=1e-5)


@pytest.mark.parametrize("kind", ["vqvae", "vae"])
def test_every_weight_gets_a_gradient_through_the_bottleneck(kind: str) -> None:
    model = small(kind)
    output = model(torch.randn(2, 1, 16, 16))
    (output.reconstruction.square().sum() + output.regularisation).backward()
    still = [name for name, weight in model.named_parameters() if weight.grad is None or not weight.grad.any()]
    assert still == []


@pytest.mark.parametrize("kind", ["vqvae", "vae"])
def test_an_empty_part_of_a_batch_adds_nothing(kind: str) -> None:
    """In a group that is larger than the batch some process has no image, and must keep in step."""
    model = small(kind)
    model(torch.randn(2, 1, 16, 16))  # a codebook in use
    output = model(torch.empty(0, 1, 16, 16))
    loss = output.reconstruction.sum() + output.regularisation
    assert loss.item() == 0
    loss.backward()
    assert not any(weight.grad.any() for weight in model.parameters() if weight.grad is not None)


@pytest.mark.parametrize("kind", ["vqvae", "vae"])
def test_in_mixed_precision_layers_run_in_bfloat16_and_what_is_summed_up_does_not(kind: str) -> None:
    """Fake tensors have types and shapes and compute nothing: no processor is asked for bfloat16."""
    with FakeTensorMode(), torch.autocast("cpu", dtype=torch.bfloat16):
        output = small(kind).eval()(torch.zeros(2, 1, 16, 16))
    assert output.reconstruction.dtype == torch.bfloat16
    assert output.regularisation.dtype == torch.float32
