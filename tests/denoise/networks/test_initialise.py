import pytest
import torch
from torch import nn

from vdr_spark.denoise.networks.initialise import initialise


@pytest.mark.parametrize(
    "layer",
    [
        nn.Conv2d(16, 24, 3, padding=1),
        nn.Conv2d(16, 24, 1),
        nn.Conv2d(16, 24, 4, stride=2, padding=1),
        nn.ConvTranspose2d(16, 24, 4, stride=2, padding=1),
    ],
    ids=str,
)
@pytest.mark.parametrize("gain", [1.0, 1.5])
def test_a_layer_passes_on_the_variance_of_what_it_sees(layer: nn.Module, gain: float) -> None:
    torch.manual_seed(0)
    initialise(layer, gain)
    with torch.inference_mode():
        seen = layer(torch.randn(8, 16, 32, 32))[..., 4:-4, 4:-4]  # away from the padding
    assert seen.std() == pytest.approx(gain, rel=0.1)
    assert abs(seen.mean()) < 0.1


def test_layers_within_layers_lose_their_biases() -> None:
    model = nn.Sequential(nn.Sequential(nn.Conv2d(1, 2, 3)), nn.ConvTranspose2d(2, 1, 3))
    initialise(model)
    assert not any(weight.any() for name, weight in model.named_parameters() if name.endswith("bias"))
