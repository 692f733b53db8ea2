"""From a scope to the lanes that it sees."""

from phronesis.core.scope import Scope
from phronesis.storage.database import Unit
from phronesis.storage.embedding_models import active_model
from phronesis.storage.lanes import ActiveModel, Lane, find_lanes, list_lanes


def visible_lanes(unit: Unit, scope: Scope) -> list[Lane]:
    """Give the lanes a read sees: a user's own and the shared namespace, or every lane of the tenant if asked for."""
    return list_lanes(unit) if scope.across_tenant else find_lanes(unit, scope.read_lanes)[0]


def searched_lanes(unit: Unit, scope: Scope) -> tuple[list[Lane], ActiveModel | None]:
    """Give the lanes a read sees, and the model whose vectors searches use; without a lane none is looked for."""
    if scope.across_tenant:
        return list_lanes(unit), active_model(unit)
    return find_lanes(unit, scope.read_lanes)
