"""Where a series keeps its networks, for one window and region."""

from __future__ import annotations

from vdr_spark.denoise.priors.kept import KeptModels
from vdr_spark.plan import ReleasePlan


def find_kept(release: ReleasePlan) -> KeptModels | None:
    """Return the networks that are kept for a window; None where a release is of no series."""
    config = release.config
    settings = config.series
    if settings is None or config.window is None:
        return None
    window = settings.calendar(config.period.timezone).named(config.window)
    folder = release.plan.output.series(str(settings.name))
    return KeptModels(
        folder.networks(release.region.name),
        window.name,
        window.number,
        (window.start.isoformat(), window.end.isoformat()),
        settings.window,
        settings.retrain,
    )
