"""What a source says was tried, before it is an item: a draft of an L1 event, and the artifacts it is about."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final, Literal

from phronesis.core.instants import isoformat, parse_moment
from phronesis.core.relations import Origin

Label = Literal["success", "failure", "unknown"]
LABELS: Final = ("success", "failure", "unknown")

VIEWS: Final = ("situation", "goal", "attempt", "result", "reflection")
"""The texts of an event (EMB-01), in the order a reader wants them; each is compared for itself (EMB-08)."""

ArtifactType = Literal["lemma", "file", "error_type", "concept"]
ARTIFACT_TYPES: Final = ("lemma", "file", "error_type", "concept")


@dataclass(frozen=True, slots=True, order=True)
class Artifact:
    """A thing that experience is about, a node of the graph (EMB-06): a lemma, a file, a kind of error, a concept."""

    type: ArtifactType
    name: str

    @property
    def id(self) -> str:
        """The node's id: ``lemma:Nat.add_comm``."""
        return f"{self.type}:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One attempt as a source tells it.

    ``signals`` say in words what decided the label ("exit code 1"), empty where nothing did; ``confidence`` in [0, 1]
    how sure it is. ``field_origin`` names for each text who said it: ``human`` (a person wrote these words), ``model``
    or ``rule`` (an adapter made the sentence). ``constraints`` are those under which it was tried, part of the
    situation. ``lines`` are the first and last line of the source that it stands on, from 1; ``span`` the same in
    characters. ``family`` is a failure family known by name. ``seq`` orders the attempts of an ``episode_id``.
    """

    attempt: str
    situation: str = ""
    goal: str = ""
    result: str = ""
    reflection: str = ""
    label: Label = "unknown"
    signals: Sequence[str] = ()
    confidence: float = 0.5
    field_origin: Mapping[str, Origin] = field(default_factory=dict)
    observations: Mapping[str, Any] = field(default_factory=dict)
    constraints: Sequence[str] = ()
    artifacts: Sequence[Artifact] = ()
    family: str | None = None
    lines: tuple[int, int] | None = None
    span: tuple[int, int] | None = None
    occurred_at: datetime | None = None
    episode_id: str | None = None
    seq: int | None = None

    @property
    def texts(self) -> dict[str, str]:
        """The texts that are there, by view."""
        return {view: text for view in VIEWS if (text := getattr(self, view))}

    def to_body(self) -> dict[str, Any]:
        """Give the discrete JSON that an outcome keeps; what is empty is left out."""
        body = {f.name: getattr(self, f.name) for f in fields(self)}
        body["occurred_at"] = isoformat(self.occurred_at)
        body["artifacts"] = [[one.type, one.name] for one in self.artifacts]
        for name in ("signals", "constraints", "lines", "span"):
            body[name] = None if body[name] is None else list(body[name])
        return {name: value for name, value in body.items() if value not in (None, "", [], {})}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> "Draft":
        """Read what ``to_body`` gave."""
        given = dict(body)
        given["artifacts"] = tuple(Artifact(kind, name) for kind, name in body.get("artifacts", ()))
        given["signals"] = tuple(body.get("signals", ()))
        given["constraints"] = tuple(body.get("constraints", ()))
        for name in ("lines", "span"):
            if name in given:
                given[name] = (int(given[name][0]), int(given[name][1]))
        if "occurred_at" in given:
            given["occurred_at"] = parse_moment(given["occurred_at"], field="occurred_at")
        return cls(**given)
