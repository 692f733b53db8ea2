"""A trait as a search document: its words, as long as it may be recalled.

A stage moves with a version of the item, and each version's documents carry the interval in which it was current. So a
search ``as_of`` a time meets the traits that could be recalled then.

A trait's context (work, social, …) is not among its words: nobody said it, it is English whatever the trait's language,
and "personal" or "learning" would meet questions about something else. ``get_user_traits`` asks for it by name.
"""

from phronesis.core.items import Item
from phronesis.core.traits.recalling import recalled
from phronesis.index.projections import Part, whole


def project_trait(item: Item) -> list[Part]:
    """Project a trait as its content; as nothing while it may not be recalled."""
    return whole(item) if recalled(item) else []
