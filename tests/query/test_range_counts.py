"""Many range counts at once: the answers of one at a time, and its refusals."""

from datetime import datetime, timedelta

import numpy as np
import pytest

from tests.query.test_range_count import LAYERS, MIDNIGHT, hours
from vdr_spark.errors import InvalidQuery
from vdr_spark.grid import Box
from vdr_spark.query import range_count, range_counts
from vdr_spark.query.summed_areas import Intervals, SummedAreas
from vdr_spark.sum_errors import Spread, SumErrors, Total

ERRORS = SumErrors(
    10.0, (Spread(1, 1, 0.5), Spread(4, 1, 0.5), Spread(1, 5, 2.0), Spread(4, 5, 2.0)), 30.0, Total(900.0)
)


def random_questions(number: int, slices: int) -> tuple[list[Box], list[datetime], list[datetime]]:
    """Boxes of all sizes, on the edges of cells, inside one cell, and across many."""
    rng = np.random.default_rng(1)
    corners = np.sort(rng.random((number, 2, 2)), axis=1)
    corners[::3] = np.round(corners[::3] * 8) / 8 + [[0.0], [0.125]]  # on edges
    corners[1::7, 1] = corners[1::7, 0] + 0.01  # inside a cell
    corners = np.clip(corners, 0, 1)
    corners[:, 0] = np.minimum(corners[:, 0], 0.98)
    corners[:, 1] = np.maximum(corners[:, 1], corners[:, 0] + 0.01)
    boxes = [Box(*of[0], *of[1]) for of in corners]
    times = np.sort(rng.random((number, 2)) * 3 * slices * 0.9, axis=1) + np.array([0.0, 0.1])
    times[::4] = np.round(times[::4]) + np.array([0.0, 0.25])
    return boxes, *([MIDNIGHT + timedelta(hours=float(of[end])) for of in times] for end in (0, 1))


@pytest.mark.parametrize("errors", [None, ERRORS])
def test_the_same_as_one_by_one(make_release, errors) -> None:
    rng = np.random.default_rng(0)
    counts, deviation = rng.gamma(0.5, 10, (5, 8, 8)), rng.gamma(2, 1, (5, 8, 8))
    release = make_release(counts, deviation=deviation, sum_errors=errors)
    boxes, starts, ends = random_questions(200, 5)
    together = range_counts(release, boxes, starts, ends)
    alone = [range_count(release, *question) for question in zip(boxes, starts, ends, strict=True)]
    np.testing.assert_allclose(together.counts, [answer.count for answer in alone], rtol=1e-6, atol=1e-6)
    assert together.deviations is not None
    np.testing.assert_allclose(together.deviations, [answer.deviation for answer in alone], rtol=1e-5)
    whole = release.range_counts(boxes)
    np.testing.assert_allclose(whole.counts, [range_count(release, box).count for box in boxes], rtol=1e-6, atol=1e-6)


def test_arrays_of_degrees_and_of_moments_mean_the_same(make_release) -> None:
    release = make_release(LAYERS)
    boxes, starts, ends = random_questions(20, 2)
    degrees = np.array([[box.south, box.west, box.north, box.east] for box in boxes])
    moments = (np.array([of.replace(tzinfo=None) for of in side], "datetime64[us]") for side in (starts, ends))
    arrays, objects = range_counts(release, degrees, *moments), range_counts(release, boxes, starts, ends)
    np.testing.assert_allclose(arrays.counts, objects.counts, rtol=1e-9)
    assert arrays.deviations is None


@pytest.mark.parametrize(
    ("box", "start", "end", "words"),
    [
        (Box(0, 0, 1.1, 1), hours(0), hours(1), "box number 1: north must lie inside"),
        (Box(0.5, 0, 0.5, 1), hours(0), hours(1), "box number 1: south must be less than north"),
        (Box(0, float("nan"), 1, 1), hours(0), hours(1), "box number 1: west must be a number"),
        (Box(0, 0, 1e-9, 1), hours(0), hours(1), "box number 1 must cover more"),
        (Box(0, 0, 1, 1), hours(2), hours(1), "box number 1: start must come before end"),
        (Box(0, 0, 1, 1), hours(-1), hours(1), "box number 1: start must lie in the release's period"),
    ],
)
def test_refusals_say_which_box(make_release, box, start, end, words) -> None:
    right = Box(0, 0, 1, 1)
    with pytest.raises(InvalidQuery, match=words):
        range_counts(make_release(LAYERS), [right, box], [hours(0), start], [hours(1), end])


def test_refusals_of_what_is_no_list_of_boxes(make_release) -> None:
    with pytest.raises(InvalidQuery, match="shape"):
        range_counts(make_release(LAYERS), np.zeros((3, 2)))
    with pytest.raises(InvalidQuery, match="one moment for each of the 1 boxes"):
        range_counts(make_release(LAYERS), [Box(0, 0, 1, 1)], [hours(0), hours(1)])


def test_no_box_no_answer(make_release) -> None:
    assert range_counts(make_release(LAYERS), np.zeros((0, 4))).counts.shape == (0,)


def test_squared_intervals_cover_the_squares_of_shares() -> None:
    whole = Intervals(np.array([0.0, 0.25, 1.5, 2.0, 0.5]), np.array([3.0, 2.5, 1.75, 3.0, 1.0]))
    tensor = np.array([1.0, 10.0, 100.0]).reshape(3, 1, 1)
    one = Intervals(np.zeros(5), np.ones(5))
    expected = [111, 0.75**2 + 10 + 0.25 * 100, 0.25**2 * 10, 100, 0.25]
    np.testing.assert_allclose(SummedAreas(tensor).sums(whole.squared(), one, one), expected)
