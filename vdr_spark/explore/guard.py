"""Who may ask: the page that we served, from this machine, and nobody else.

Any web page a person visits can send requests to 127.0.0.1, and a name that its owner points there (DNS rebinding) even
makes them look like the page's own. So a request must name us in `Host`, must not come from elsewhere by `Origin` or
`Sec-Fetch-Site`, and must know a random token that stands in the address. No CORS header is ever sent.
"""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

_NAMES = ("127.0.0.1", "localhost")
_LOOPBACK_PAGES = " ".join(f"{scheme}://{name}:*" for scheme in ("http", "https") for name in _NAMES)


@dataclass(frozen=True)
class Refusal:
    """Why a request is not answered."""

    status: int
    sentence: str


@dataclass(frozen=True)
class Guard:
    """What a request must show."""

    port: int
    token: str
    framed: bool = False  # whether pages of this machine, such as a notebook, may show ours in a frame

    @classmethod
    def new(cls, port: int, framed: bool = False) -> Guard:
        return cls(port, secrets.token_urlsafe(24), framed)

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://127.0.0.1:{self.port}/{self.token}/"

    def refuse(self, path: str, headers: Mapping[str, str]) -> Refusal | None:
        """Return why a request is refused; None: it may be answered. Headers have their names in lower case."""
        hosts = [f"{name}:{self.port}" for name in _NAMES]
        if headers.get("host") not in hosts:
            return Refusal(421, "Host must be 127.0.0.1 with our port; open the address that `vdr explore` printed")
        origin = headers.get("origin")
        if origin is not None and origin not in [f"http://{host}" for host in hosts]:
            return Refusal(403, "Origin must be this page's own; other pages cannot use it")
        if not hmac.compare_digest(path.split("/")[1].encode(), self.token.encode()):
            return Refusal(403, "the address must have the token that `vdr explore` printed; open it from there")
        elsewhere = headers.get("sec-fetch-site", "none") not in ("none", "same-origin")
        if elsewhere and not self._may_come_from_elsewhere(path, headers):
            return Refusal(403, "Sec-Fetch-Site must be same-origin; other pages cannot use it")
        return None

    def _may_come_from_elsewhere(self, path: str, headers: Mapping[str, str]) -> bool:
        """Whether it is the page itself, as a link opens it, or the frame of a notebook."""
        shown = ("document", "iframe") if self.framed else ("document",)
        navigates = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") in shown
        return path == f"/{self.token}/" and navigates

    @property
    def headers(self) -> dict[str, str]:
        """What every response carries: nothing from elsewhere, no inline script, no guessing of types, no cache."""
        ancestors = f"'self' {_LOOPBACK_PAGES}" if self.framed else "'none'"
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
            f"base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
        )
        return {
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Resource-Policy": "same-origin",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Permissions-Policy": "geolocation=(), camera=(), microphone=()",
            "Cache-Control": "no-store",
        }
