"""A report where it is looked at: in a cell of a notebook, or as a file."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from pathlib import Path

from vdr_spark.storage.files import write_text


@dataclass(frozen=True)
class ShownReport:
    """A whole page. A notebook shows it in a frame of its own, `save` writes it as a file."""

    release_id: str
    page: str = field(repr=False)

    def save(self, path: str | Path) -> str:
        """Write the page; return where."""
        write_text(str(path), self.page)
        return str(path)

    def _repr_html_(self) -> str:
        # All of it is in the frame: nothing of the notebook's style reaches the page, and nothing of the page runs.
        return (
            f'<iframe srcdoc="{html.escape(self.page)}" sandbox="" title="Report on release '
            f'{html.escape(self.release_id)}" style="width:100%;height:44rem;border:1px solid #8888"></iframe>'
        )
