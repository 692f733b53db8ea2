"""An item in one sentence of its own: whose it is, what it is about, and its value, in the language it was said in."""

import re
from typing import TYPE_CHECKING, Final

from phronesis.core.memory_keys import label_of
from phronesis.core.proposals import USER

if TYPE_CHECKING:
    from phronesis.core.items import Item

_HAN: Final = re.compile("[\u3400-\u9fff]")
_END: Final = " \t\n.,;。，；"


def statement(item: "Item") -> str:
    """Give what an item says: "Home city: Oslo", "Anna · allergy: nuts", 宠物：豆包.

    Only its own fact: the words it was taken from may tell several, or be the middle of a sentence. The content of an
    item without a key or a value, and of one whose value does not say it all (a task, an event).
    """
    value = item.value.strip(_END) if isinstance(item.value, str) else ""
    if not value or not item.key:
        return item.content
    chinese = _HAN.search(item.content or value) is not None
    label = label_of(item.key, chinese=chinese)
    if label is None:
        return item.content
    value = " ".join(value.split())
    if item.subject is None or item.subject == USER:
        return f"{label}：{value}" if chinese else f"{label[:1].upper()}{label[1:]}: {value}"
    return (
        f"{item.subject} · {label}：{value}" if chinese else f"{item.subject} · {label[:1].lower()}{label[1:]}: {value}"
    )
