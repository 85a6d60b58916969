import numpy as np
import pytest
import torch

from vdr_spark.denoise.networks.training_set import Crops, average_blocks, stack_resolutions


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


def crops_of(image: torch.Tensor, number: int, side: int | None, slices: torch.Tensor | None = None) -> torch.Tensor:
    torch.manual_seed(0)
    return Crops(image, image if slices is None else slices, side).cut(torch.zeros(number, dtype=torch.long))


def test_crops_are_squares_of_their_image_at_all_places_and_flipped_in_all_ways() -> None:
    image = torch.arange(100.0).reshape(1, 10, 10)
    crops = crops_of(image, 800, 7, torch.zeros(1, 10, 10))
    assert crops.shape == (800, 7, 7)
    expected = {
        (y, x, *flipped): image[0, y : y + 7, x : x + 7].flip(flipped)
        for y in range(4)
        for x in range(4)
        for flipped in [(), (0,), (1,), (0, 1)]
    }
    found = [next(place for place, wanted in expected.items() if torch.equal(crop, wanted)) for crop in crops]
    assert set(found) == set(expected)


def test_most_crops_are_where_people_are() -> None:
    """Without that a city in a fiftieth of the box would be in few of them."""
    slices = torch.zeros(3, 100, 100)
    slices[:, 70:80, 20:30] = 50
    crops = crops_of(slices[:1], 400, 16, slices)
    in_town = (crops.sum((1, 2)) > 0).double().mean().item()
    anywhere = (25 / 85) ** 2  # of corners, for one of which in 85 x 85 the square meets the town
    assert 0.5 < in_town < 0.85 + 0.15 * anywhere
    assert in_town > 5 * anywhere


def test_the_noise_of_empty_country_does_not_outweigh_a_city() -> None:
    """Its mean is above zero in half of all cells, and there are fifty times as many of them as of the city's."""
    noise = torch.tensor(np.random.default_rng(2).laplace(scale=5, size=(12, 140, 140)))
    city = torch.zeros(1, 140, 140, dtype=torch.float64)
    city[:, 100:120, 20:40] = 2
    crops = crops_of(city, 600, 16, city + noise)
    assert (crops.sum((1, 2)) > 0).double().mean() > 0.7


def test_one_slice_tells_where_it_is_busy_too() -> None:
    city = torch.zeros(1, 60, 60)
    city[:, 50:, 50:] = 9
    assert (crops_of(city, 200, 16).sum((1, 2)) > 0).double().mean() > 0.6


def test_negative_means_which_noise_makes_have_no_chance() -> None:
    slices = torch.full((2, 40, 40), -3.0)
    slices[:, 30:, 30:] = 5
    corners = crops_of(torch.arange(1600.0).reshape(1, 40, 40), 300, 16, slices).amin((1, 2))
    assert (corners == 24 * 40 + 24).double().mean() > 0.15  # the last corner: what sticks out is pushed back
    assert corners.isfinite().all()


@pytest.mark.parametrize("side", [None, 10, 64])
def test_whole_images_where_the_crop_is_not_smaller(side: int | None) -> None:
    images = torch.randn(2, 10, 10)
    assert torch.equal(Crops(images, images, side).cut(torch.tensor([1, 0])), images[[1, 0]])


@pytest.mark.parametrize(("side", "times"), [(None, 1), (64, 1), (20, 1), (10, 4), (6, 11)])
def test_an_epoch_of_crops_has_as_many_pixels_as_one_of_images(side: int | None, times: int) -> None:
    images = torch.zeros(3, 20, 20)
    numbers = Crops(images, images, side).shuffle()
    assert numbers.bincount().tolist() == [times] * 3
