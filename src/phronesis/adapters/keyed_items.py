"""Items that a framework finds by a name of its own: a file by its path, a document by its namespace and key.

Each is one item of a lane, with its name in ``metadata``: giving it other words, or another name, is an edit with a
history that can be rolled back, and removing it archives it.
"""

import threading
from collections.abc import Iterator, Mapping
from typing import Any, Final

from phronesis.core.items import Item
from phronesis.memory import Memory

KIND: Final = "fact"
_PAGE: Final = 1_000
"""Items that one listing gives; longer ones are read page by page."""


class KeyedItems:
    """The items about one ``subject`` in one lane: a user's, else a shared namespace. Thread-safe.

    Two processes that put the same new name at the same moment make two items of it: the one that changed last counts,
    and removing takes both.
    """

    def __init__(self, memory: Memory, *, subject: str, name_in: str, user_id: str | None, namespace: str) -> None:
        self.memory = memory
        self.lock = threading.RLock()
        self._subject = subject
        self._name_in = name_in
        self._user_id = user_id
        self._namespace = namespace

    @property
    def scope(self) -> dict[str, Any]:
        """How a search or a listing of this lane is called; beside a user's lane it sees the shared namespace too."""
        return {"user_id": self._user_id, "namespace": self._namespace, "kinds": [KIND]}

    def find(self, name: str) -> Item | None:
        """Give the item of a name, or None."""
        return max(self._named(name), key=_age, default=None)

    def matching(self, filters: Mapping[str, Any] | None = None) -> list[Item]:
        """Give all items that meet ``filters``, one for each name, those first that changed last."""
        found: dict[str, Item] = {}
        for item in sorted(self._listed(filters), key=_age, reverse=True):
            found.setdefault(item.metadata[self._name_in], item)
        return list(found.values())

    def put(self, name: str, content: str, metadata: Mapping[str, Any]) -> None:
        """Give a name these words: a new version of its item, or its first.

        ``metadata`` are merged into the item's; None removes a key.
        """
        with self.lock:
            item = self.find(name)
            if item is None:
                self._add(name, content, metadata)
            else:
                self.edit(item, content, metadata)

    def edit(self, item: Item, content: str, metadata: Mapping[str, Any]) -> None:
        """Give an item other words and metadata; its history goes on."""
        self.memory.update(item.id, content=content, metadata=metadata)

    def remove(self, name: str) -> bool:
        """Archive what goes by a name; whether there was anything."""
        with self.lock:
            items = list(self._named(name))
            for item in items:
                self.memory.delete(item.id)
            return bool(items)

    def _add(self, name: str, content: str, metadata: Mapping[str, Any]) -> None:
        given = {field: value for field, value in metadata.items() if value is not None}
        self.memory.add(
            content, kind=KIND, subject=self._subject, metadata={**given, self._name_in: name},
            user_id=self._user_id, namespace=self._namespace,
        )  # fmt: skip

    def _named(self, name: str) -> Iterator[Item]:
        return self._listed({f"metadata.{self._name_in}": name})

    def _listed(self, filters: Mapping[str, Any] | None) -> Iterator[Item]:
        cursor = None
        while True:
            page = self.memory.get_all(**self.scope, filters=filters, limit=_PAGE, cursor=cursor)
            yield from (item for item in page if item.user_id == self._user_id and item.subject == self._subject)
            cursor = page.next_cursor
            if cursor is None:
                return


def _age(item: Item) -> tuple[Any, str]:
    return item.updated_at, item.id
