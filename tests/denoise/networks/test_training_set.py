import numpy as np
import pytest
import torch

from vdr_spark.denoise.networks.training_set import average_blocks, random_crops, stack_resolutions


def reference(image: np.ndarray, side: int) -> np.ndarray:
    result = np.empty_like(image)
    for y in range(0, image.shape[0], side):
        for x in range(0, image.shape[1], side):
            result[y : y + side, x : x + side] = image[y : y + side, x : x + side].mean()
    return result


@pytest.mark.parametrize(("size", "side"), [(6, 2), (6, 3), (7, 3), (5, 4), (2, 3), (6, 1)])
def test_each_pixel_becomes_the_mean_of_its_block_also_at_the_edge(size: int, side: int) -> None:
    images = np.random.default_rng(0).normal(10, 3, (2, size, size))
    means = average_blocks(torch.tensor(images), side).numpy()
    np.testing.assert_allclose(means, [reference(image, side) for image in images])


def test_the_set_holds_the_slices_first_and_then_each_coarser_version() -> None:
    slices = torch.randn(4, 9, 9)
    images = stack_resolutions(slices, 3)
    assert images.shape == (12, 9, 9)
    assert torch.equal(images[:4], slices)
    torch.testing.assert_close(images[4:8], average_blocks(slices, 2))
    torch.testing.assert_close(images[8:], average_blocks(slices, 3))


def test_noise_falls_by_the_side_of_the_block() -> None:
    noise = torch.tensor(np.random.default_rng(1).laplace(size=(4, 120, 120)))
    images = stack_resolutions(noise, 3)
    deviations = images.reshape(3, -1).std(1)
    np.testing.assert_allclose(deviations[0] / deviations, [1, 2, 3], rtol=0.05)


def test_crops_are_squares_of_their_image_at_different_places() -> None:
    torch.manual_seed(0)
    image = torch.arange(100.0).reshape(1, 10, 10)
    crops = random_crops(image, torch.zeros(200, dtype=torch.long), 7)
    assert crops.shape == (200, 7, 7)
    corners = crops[:, 0, 0].long()
    for crop, corner in zip(crops, corners.tolist(), strict=True):
        y, x = divmod(corner, 10)
        assert torch.equal(crop, image[0, y : y + 7, x : x + 7])
    assert set(corners.tolist()) == {10 * y + x for y in range(4) for x in range(4)}


@pytest.mark.parametrize("side", [None, 10, 64])
def test_whole_images_where_the_crop_is_not_smaller(side: int | None) -> None:
    images = torch.randn(2, 10, 10)
    assert torch.equal(random_crops(images, torch.tensor([1, 0]), side), images[[1, 0]])
