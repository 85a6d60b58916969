import pytest

from tests.explore.cities import HEADERS, PORT, TOKEN, city, get, site
from vdr_spark.explore.guard import Guard


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": f"evil.example:{PORT}"}, 421),  # a name that was pointed at 127.0.0.1
        ({"host": f"127.0.0.1:{PORT + 1}"}, 421),
        ({"host": "127.0.0.1"}, 421),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": f"http://127.0.0.1:{PORT + 1}"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}, 403),
    ],
)
def test_other_origins_are_refused(headers: dict[str, str], status: int) -> None:
    for path in ("", "api/meta", "explorer.js"):
        found = get(site(city()), path, **headers)
        assert found.status == status
        assert b'"error"' in found.body


def test_no_host_at_all_is_refused() -> None:
    assert site(city()).respond("GET", f"/{TOKEN}/", {}).status == 421


@pytest.mark.parametrize("path", ["/", "/a-toke/", "/a-token2/", "//a-token/", "/A-TOKEN/api/meta", "/é/"])
def test_without_the_token_nothing_is_answered(path: str) -> None:
    assert site(city()).respond("GET", path, HEADERS).status in (400, 403)


def test_our_own_page_and_a_link_to_it_are_answered() -> None:
    ours = site(city())
    assert get(ours, "api/meta", origin=f"http://127.0.0.1:{PORT}", **{"sec-fetch-site": "same-origin"}).status == 200
    assert get(ours, "api/meta", host=f"localhost:{PORT}").status == 200
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert get(ours, "", **link).status == 200
    assert get(ours, "api/meta", **link).status == 403


def test_only_a_notebooks_page_may_be_framed() -> None:
    alone, framed = Guard(PORT, TOKEN), Guard(PORT, TOKEN, framed=True)
    frame = HEADERS | {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"}
    assert alone.refuse(f"/{TOKEN}/", frame) is not None
    assert framed.refuse(f"/{TOKEN}/", frame) is None
    assert "frame-ancestors 'none'" in alone.headers["Content-Security-Policy"]
    assert "frame-ancestors 'self' http://127.0.0.1:*" in framed.headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["", "explorer.js", "explorer.css", "api/meta", "api/nothing", "api/slice?t=x"])
def test_every_response_forbids_what_it_can(path: str) -> None:
    headers = {name.lower(): value for name, value in get(site(city()), path).headers.items()}
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert not any(name.startswith("access-control") for name in headers)


def test_tokens_cannot_be_guessed() -> None:
    tokens = {Guard.new(PORT).token for _ in range(100)}
    assert len(tokens) == 100
    assert min(map(len, tokens)) >= 32
