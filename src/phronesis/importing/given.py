"""What a reader of a format gives: calls to be made, and what it passes over."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from phronesis.core.text import check_id
from phronesis.errors import InputError

Verb = Literal["commit_turn", "add", "ingest"]


@dataclass(frozen=True, slots=True)
class Given:
    """One call: the verb of a Memory, its arguments, and ``ref``, which names the thing in the program it comes from.

    ``owner`` is the user whom the export itself names. ``done`` says how far the reader is, in the units of its total.
    ``identity`` are members of the metadata, such as ``{"mem0": {"id": …}}``, that only this thing's item has.

    An item, a message or an experience that has an id in that program has it as ``external_id`` in its arguments.
    """

    verb: Verb
    ref: str
    arguments: Mapping[str, Any]
    owner: str | None = None
    done: int = 0
    identity: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something that is not taken in: where it stands, and why."""

    ref: str
    reason: str
    done: int = 0


Step = Given | Skipped
Reader = Callable[[Path], Iterator[Step]]


@dataclass(frozen=True, slots=True)
class Format:
    """A format: what reads it, and how much there is to read (bytes, or commits)."""

    read: Reader
    total: Callable[[Path], int]
    unit: str = field(default="bytes")


def name_of(value: object) -> str | None:
    """Return an id of an export as an ``external_id``; None where there is none, or it cannot be one."""
    try:
        return None if value is None else check_id(str(value), field="id")
    except InputError:
        return None


def mapping(value: Any) -> Mapping[str, Any]:
    """Give an object of an export; of anything else that stands in its place, an empty one."""
    return value if isinstance(value, Mapping) else {}


def objects(value: Any) -> list[Mapping[str, Any]]:
    """Give the objects of a list of an export; of anything else that stands in its place, none."""
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
