"""From a scope to the lanes that it sees."""

from phronesis.core.scope import Scope
from phronesis.storage.database import Unit
from phronesis.storage.lanes import Lane, find_lane, list_lanes


def visible_lanes(unit: Unit, scope: Scope) -> list[Lane]:
    """Give the lanes a read sees: a user's own and the shared namespace, or every lane of the tenant if asked for."""
    if scope.across_tenant:
        return list_lanes(unit)
    found = [find_lane(unit, name) for name in scope.read_lanes]
    return [lane for lane in found if lane is not None]
