"""The verbs that show a whole scope at a glance."""

from datetime import timedelta
from typing import Final

from phronesis.core.instants import Moment, parse_moment
from phronesis.core.overview import Overview, UserInfo
from phronesis.core.scope import make_scope
from phronesis.memory.inside import Inside
from phronesis.truth import inputs

LATELY: Final = timedelta(days=1)
"""What counts as lately where nobody says."""

MAX_SHOWN: Final = 1_000
"""Members of one list of an overview."""


class Overviewing(Inside):
    """overview, list_users."""

    def overview(
        self,
        *,
        user_id: str | None = None,
        namespace: str | None = None,
        across: str | None = None,
        since: Moment | None = None,
        limit: int = 20,
    ) -> Overview:
        """Give what a scope holds at a glance: counts, what was learned, what contradicts, what waits for a person.

        ``since`` bounds what was learned, by when it was recorded: the last 24 hours by default. ``limit`` bounds each
        list; counts are exact.
        """
        scope = make_scope(user_id=user_id, namespace=namespace, across=across)
        stages = self._open_stages()
        start = stages.clock() - LATELY if since is None else parse_moment(since, field="since")
        count = inputs.limit(limit, most=MAX_SHOWN)
        return stages.overviews.overview(self._tenant, scope, start, limit=count)

    def list_users(self) -> list[UserInfo]:
        """Give the users of the tenant with what is held of each, the last active first."""
        return self._open_stages().overviews.users(self._tenant)
