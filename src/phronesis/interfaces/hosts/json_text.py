"""Edits of JSON text that leave every other byte as it is: white space, order, comments and trailing commas stay."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

Place = tuple[str, ...]
"""The keys that lead to a member of a file."""

_DECODER: Final = json.JSONDecoder()
_SPACE: Final = " \t\r\n\ufeff"
_UNIT: Final = "  "
"""Indentation where a file shows none."""


@dataclass(slots=True)
class Node:
    """A value of a text, at ``start`` up to ``end``: with its members, if it is an object, or elements of an array.

    ``keys`` are the places where the keys of the members begin.
    """

    start: int
    end: int
    value: Any
    members: dict[str, "Node"] = field(default_factory=dict)
    keys: dict[str, int] = field(default_factory=dict)
    elements: list["Node"] = field(default_factory=list)

    def at(self, place: Sequence[str]) -> "Node | None":
        """Return the value at a place; None: there is none."""
        found: Node | None = self
        for key in place:
            found = None if found is None else found.members.get(key)
        return found


def parse(text: str) -> Node:
    """Return the value of a JSON text, which may have comments and trailing commas. ValueError: it is none."""
    try:
        node = _value(text, _skip(text, 0))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if _skip(text, node.end) != len(text):
        raise ValueError(f"more than one value, at character {node.end}")
    return node


def _skip(text: str, at: int) -> int:
    """Return where the next token begins, after white space and comments."""
    while at < len(text):
        if text[at] in _SPACE:
            at += 1
        elif text.startswith("//", at):
            end = text.find("\n", at)
            at = len(text) if end < 0 else end
        elif text.startswith("/*", at):
            end = text.find("*/", at + 2)
            if end < 0:
                raise ValueError(f"a comment is not closed, at character {at}")
            at = end + 2
        else:
            break
    return at


def _value(text: str, at: int) -> Node:
    opened = text[at : at + 1]
    if opened == "{":
        return _object(text, at)
    if opened == "[":
        return _array(text, at)
    value, end = _DECODER.raw_decode(text, at)
    return Node(at, end, value)


def _object(text: str, start: int) -> Node:
    node = Node(start, start, {})
    at = _skip(text, start + 1)
    while text[at : at + 1] != "}":
        if text[at : at + 1] != '"':
            raise ValueError(f"a key was expected, at character {at}")
        key, colon = _DECODER.raw_decode(text, at)
        colon = _skip(text, colon)
        if text[colon : colon + 1] != ":":
            raise ValueError(f"a colon was expected, at character {colon}")
        member = _value(text, _skip(text, colon + 1))
        node.members[key], node.keys[key], node.value[key] = member, at, member.value
        at = _next(text, member.end, "}")
    node.end = at + 1
    return node


def _array(text: str, start: int) -> Node:
    node = Node(start, start, [])
    at = _skip(text, start + 1)
    while text[at : at + 1] != "]":
        node.elements.append(_value(text, at))
        node.value.append(node.elements[-1].value)
        at = _next(text, node.elements[-1].end, "]")
    node.end = at + 1
    return node


def _next(text: str, at: int, closing: str) -> int:
    """Return where the next member begins, or the bracket that closes."""
    at = _skip(text, at)
    if text[at : at + 1] == ",":
        return _skip(text, at + 1)
    if text[at : at + 1] != closing:
        raise ValueError(f"a comma or {closing} was expected, at character {at}")
    return at


# Edits. Each reads the text anew: configuration files are small.


def put(text: str, place: Place, value: Any) -> str:
    """Return a text with a value at a place: in the stead of the one there, or as the last member of its object.

    The objects around it are made if they are missing. ValueError: what is there is no object.
    """
    root = parse(text)
    held = root.at(place)
    if held is not None:
        return text if held.value == value else _replace(text, held, _dump(text, held.start, value))
    depth = next(n for n in range(len(place) - 1, -1, -1) if root.at(place[:n]) is not None)
    holder = root.at(place[:depth])
    if holder is None or not isinstance(holder.value, dict):
        raise ValueError(f"{'.'.join(place[:depth]) or 'the file'} is no object")
    for key in reversed(place[depth + 1 :]):
        value = {key: value}
    return _add(text, holder, [*holder.members.values()], value, key=place[depth])


def extend(text: str, place: Place, values: Sequence[Any]) -> str:
    """Return a text with values at the end of the array at a place, which is made if it is missing."""
    held = parse(text).at(place)
    if held is None:
        return put(text, place, list(values))
    if not isinstance(held.value, list):
        raise ValueError(f"{'.'.join(place)} is no array")  # noqa: TRY004 - as all that is wrong with a text
    for value in values:
        held = parse(text).at(place)
        assert held is not None  # noqa: S101 - it was there
        text = _add(text, held, held.elements, value)
    return text


def drop(text: str, place: Place) -> str:
    """Return a text without the member at a place."""
    holder = parse(text).at(place[:-1])
    if holder is None or place[-1] not in holder.members:
        return text
    spans = [(holder.keys[key], node.end) for key, node in holder.members.items()]
    return _cut(text, holder, spans, list(holder.members).index(place[-1]))


def drop_elements(text: str, place: Place, is_dropped: Callable[[Any], bool]) -> str:
    """Return a text without some elements of the array at a place."""
    while True:
        held = parse(text).at(place)
        spans = [] if held is None else [(node.start, node.end) for node in held.elements]
        index = next((n for n, node in enumerate(held.elements if held else ()) if is_dropped(node.value)), None)
        if held is None or index is None:
            return text
        text = _cut(text, held, spans, index)


def raw(text: str, place: Place) -> str | None:
    """Return the value at a place as it is written; None: there is none."""
    held = parse(text).at(place)
    return None if held is None else text[held.start : held.end]


def put_raw(text: str, place: Place, written: str) -> str:
    """Return a text with the value at a place as it was written before."""
    held = parse(text).at(place)
    return text if held is None else _replace(text, held, written)


def _replace(text: str, node: Node, written: str) -> str:
    return f"{text[: node.start]}{written}{text[node.end :]}"


def _cut(text: str, holder: Node, spans: Sequence[tuple[int, int]], index: int) -> str:
    """Return a text without one member, and without the comma before it, or else after it."""
    if index:
        return text[: spans[index - 1][1]] + text[spans[index][1] :]
    if len(spans) > 1:
        return text[: spans[0][0]] + text[spans[1][0] :]
    return text[: holder.start + 1] + text[holder.end - 1 :]


def _add(text: str, holder: Node, there: Sequence[Node], value: Any, *, key: str | None = None) -> str:
    """Return a text with one more member at the end of an object or array, in the form of those that are there."""
    name = "" if key is None else f"{json.dumps(key, ensure_ascii=False)}: "
    if there and "\n" not in text[holder.start : holder.end]:
        written = f", {name}{json.dumps(value, ensure_ascii=False)}"
        return text[: there[-1].end] + written + text[there[-1].end :]
    first = min(holder.keys.values(), default=None) if key is not None else there[0].start if there else None
    outer = _indent(text, holder.start)
    indent = outer + _unit(text) if first is None else _indent(text, first)
    written = f"\n{indent}{name}{_dump_indented(text, indent, value)}"
    if there:
        return f"{text[: there[-1].end]},{written}{text[there[-1].end :]}"
    return f"{text[: holder.start + 1]}{written}\n{outer}{text[holder.end - 1 :]}"


def _dump(text: str, at: int, value: Any) -> str:
    return _dump_indented(text, _indent(text, at), value) if "\n" in text else json.dumps(value, ensure_ascii=False)


def _dump_indented(text: str, indent: str, value: Any) -> str:
    return json.dumps(value, indent=_unit(text), ensure_ascii=False).replace("\n", f"\n{indent}")


def _indent(text: str, at: int) -> str:
    """Return the white space at the beginning of a line."""
    line = text[text.rfind("\n", 0, at) + 1 : at]
    return line[: len(line) - len(line.lstrip())]


def _unit(text: str) -> str:
    """Return the indentation of the members of the file's object."""
    keys = parse(text).keys
    return (_indent(text, min(keys.values())) if keys else "") or _UNIT
