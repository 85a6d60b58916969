import json
from pathlib import Path

import numpy as np
import pytest

from vdr_spark.errors import InvalidInput
from vdr_spark.explore.backdrop import pack_lines, read_lines
from vdr_spark.grid import Box

LINE = [[0.0, 0.0], [1.0, 0.5], [2.0, 1.0]]
RING = [[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 0.0]]


def feature(kind: str, coordinates: object) -> dict[str, object]:
    return {
        "type": "Feature",
        "properties": {"name": "Main Street"},
        "geometry": {"type": kind, "coordinates": coordinates},
    }


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content))
    return path


def test_lines_of_all_kinds_are_read_and_names_are_not(tmp_path: Path) -> None:
    features = [
        feature("LineString", LINE),
        feature("MultiLineString", [LINE, LINE]),
        feature("Polygon", [RING, RING]),
        feature("MultiPolygon", [[RING], [RING]]),
        feature("Point", [0.0, 0.0]),
        {"type": "Feature", "properties": {}, "geometry": None},
        {"type": "GeometryCollection", "geometries": [{"type": "LineString", "coordinates": [[0, 0, 9], [1, 1, 9]]}]},
    ]
    lines = read_lines(write(tmp_path / "a.geojson", {"type": "FeatureCollection", "features": features}))
    assert [len(line) for line in lines] == [3, 3, 3, 4, 4, 4, 4, 2]
    assert b"Main" not in pack_lines(lines, Box(0, 0, 1, 2))


def test_lines_are_packed_in_the_box_and_far_ones_left_out() -> None:
    content = pack_lines([np.array(LINE), np.array(LINE) + 50], Box(0.0, 0.0, 1.0, 2.0))
    assert np.frombuffer(content[:8], "<u4").tolist() == [1, 3]
    assert np.frombuffer(content[8:], "<f4").reshape(-1, 2).tolist() == [[0, 0], [0.5, 0.5], [1, 1]]


@pytest.mark.parametrize(
    "content", [[], {}, {"type": "FeatureCollection"}, feature("LineString", "x"), feature("Point", [0, 0])]
)
def test_what_is_no_geojson_is_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(InvalidInput, match="--backdrop must"):
        read_lines(write(tmp_path / "a.geojson", content))


def test_a_missing_file_and_one_of_another_kind_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="a file that can be read"):
        read_lines(tmp_path / "none.geojson")
    (tmp_path / "b").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InvalidInput, match="GeoJSON"):
        read_lines(tmp_path / "b")
