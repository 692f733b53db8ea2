"""The port of reviews: what a plug-in of a field of work tells about the runs of its field."""

from typing import Any, Protocol

from phronesis.core.scope import LaneName
from phronesis.reasoning.laws.records import Review, Run


class RunReviews(Protocol):
    """Reviews of runs; thread-safe. A plug-in brings them as the component ``reviews``."""

    def recorded(self, tenant: str, lane: LaneName, run: Run) -> None:
        """Take note of a new run. Never fails and never waits."""
        ...

    def known(self, tenant: str, run: Run) -> Review | None:
        """Return the review that follows from what is known; no server is asked."""
        ...

    def review(self, tenant: str, lane: LaneName, run: Run, *, refresh: bool, wait: bool) -> Review:
        """Return the review of a run; servers may be asked."""
        ...

    def drawing(self, review: Review) -> Any:
        """Return the drawing for the page of a run, or None; MissingExtra if a package is missing."""
        ...

    def close(self) -> None:
        """Stop what runs in the background."""
        ...
