"""Input and drafts of L1 events (EMB-01), and the artifacts that a text names: files, error types, lemmas, code spans.

Word borders are ASCII borders, since Chinese text does not separate Latin names by blanks.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final, Literal, TypedDict

from phronesis.core.relations import Origin
from phronesis.core.serialization import plain
from phronesis.core.text import check_id, check_text
from phronesis.core.timestamps import Moment, isoformat, parse_moment, parse_past
from phronesis.errors import InputError
from phronesis.experience.laws.constraints import as_texts

Label = Literal["success", "failure", "unknown"]
LABELS: Final = ("success", "failure", "unknown")

VIEWS: Final = ("situation", "goal", "attempt", "result", "reflection")
"""The texts of an event (EMB-01), in reading order; each is compared separately (EMB-08)."""

ArtifactType = Literal["lemma", "file", "error_type", "concept"]
ARTIFACT_TYPES: Final = ("lemma", "file", "error_type", "concept")


@dataclass(frozen=True, slots=True, order=True)
class Artifact:
    """A thing that experience is about, a node of the graph (EMB-06): a lemma, file, error type or concept."""

    type: ArtifactType
    name: str

    @property
    def id(self) -> str:
        """The node's id: ``lemma:Nat.add_comm``."""
        return f"{self.type}:{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """One attempt as a source reports it.

    ``signals`` are the words that decided the label ("exit code 1"), empty if nothing did; ``confidence`` in [0, 1] is
    that of the label. ``field_origin`` names the author of each text: ``human`` (a person wrote these words), ``model``
    or ``rule`` (an adapter made the sentence). ``constraints`` are those of the attempt, part of the situation.
    ``lines`` are its first and last line in the source, from 1; ``span`` the same in characters. ``family`` is a known
    failure family. ``seq`` orders the attempts of an ``episode_id``.
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
        """The non-empty texts, by view."""
        return {view: text for view in VIEWS if (text := getattr(self, view))}

    def to_body(self) -> dict[str, Any]:
        """Return the draft as JSON values for an outcome, without empty members."""
        body = {f.name: getattr(self, f.name) for f in fields(self)}
        body["occurred_at"] = isoformat(self.occurred_at)
        body["artifacts"] = [[one.type, one.name] for one in self.artifacts]
        for name in ("signals", "constraints", "lines", "span"):
            body[name] = None if body[name] is None else list(body[name])
        return {name: value for name, value in body.items() if value not in (None, "", [], {})}

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> "Draft":
        """Return a draft from the values that ``to_body`` returned."""
        given = {**body, "artifacts": tuple(Artifact(kind, name) for kind, name in body.get("artifacts", ()))}
        given |= {name: tuple(body.get(name, ())) for name in ("signals", "constraints")}
        for name in ("lines", "span"):
            if name in given:
                given[name] = (int(given[name][0]), int(given[name][1]))
        if "occurred_at" in given:
            given["occurred_at"] = parse_moment(given["occurred_at"], field="occurred_at")
        return cls(**given)


MAX_ARTIFACTS: Final = 24
"""Artifacts of one event: a log that names hundreds of files is about none of them."""

MAX_SCANNED: Final = 20_000
"""Characters of a text that are scanned."""

MAX_NAME: Final = 120
"""Characters of a name; longer matches are not names."""

_ENDINGS: Final = (
    "py|pyi|ipynb|lean|ts|tsx|js|jsx|mjs|java|kt|go|rs|c|cc|cpp|h|hpp|rb|php|cs|swift|sh|sql|toml|yaml|yml|json|xml|lock"
    "|cfg|ini|md|tex|csv|parquet|log|txt|html|css|dockerfile"
)
_EDGE: Final = r"(?<![A-Za-z0-9_./\-])"

_FILE: Final = re.compile(
    rf"{_EDGE}((?:[A-Za-z0-9_.\-]{{1,64}}/){{0,12}}[A-Za-z0-9_\-]{{1,64}}\.(?:{_ENDINGS}))(?![A-Za-z0-9_])"
)
_EXCEPTION: Final = re.compile(
    rf"{_EDGE}((?:[a-z_]{{1,40}}\.){{0,4}}[A-Z][A-Za-z]{{2,48}}(?:Error|Exception|Warning|Timeout))(?![A-Za-z0-9_])"
)
_LEMMA: Final = re.compile(rf"{_EDGE}([A-Z][A-Za-z0-9]{{1,40}}(?:\.[A-Za-z0-9_']{{1,60}}){{1,4}})(?![A-Za-z0-9_(])")
_CODE: Final = re.compile(rf"{_EDGE}((?:E|TS|CS|C|LNK|ORA-|SQLSTATE )[0-9]{{4,5}})(?![A-Za-z0-9_])")
_STATUS: Final = re.compile(rf"{_EDGE}(HTTP[ /]?[45][0-9][0-9]|OOM)(?![A-Za-z0-9_])")
_CAPITALS: Final = re.compile(rf"{_EDGE}((?:E|SIG)[A-Z0-9]{{2,15}}|ERR_[A-Z_]{{3,40}})(?![A-Za-z0-9_])")
_QUOTED: Final = re.compile(r"`([^`\n]{2,60})`")

_PATTERNS: Final[tuple[tuple[ArtifactType, re.Pattern[str]], ...]] = (
    ("file", _FILE),
    ("error_type", _EXCEPTION),
    ("error_type", _CODE),
    ("error_type", _STATUS),
    ("error_type", _CAPITALS),
    ("lemma", _LEMMA),
    ("concept", _QUOTED),
)
_FIRST_PATTERNS: Final[tuple[tuple[ArtifactType, re.Pattern[str]], ...]] = (
    *_PATTERNS[:3],
    ("error_type", re.compile(rf"{_EDGE}(HTTP[ /]?[45][0-9][0-9]|E[A-Z]{{5,14}}|SIG[A-Z]{{3,5}}|OOM)(?![A-Za-z0-9_])")),
    *_PATTERNS[5:],
)
"""The patterns of version 1, for entries of older logs: any capitalised word that begins with E is an error."""

VERSION: Final = 2
"""The version of these rules; rises when the same text would give other artifacts."""

_ERRNO: Final = frozenset(
    """
    E2BIG EACCES EADDRINUSE EADDRNOTAVAIL EAFNOSUPPORT EAGAIN EALREADY EBADF EBADMSG EBUSY ECANCELED ECHILD
    ECONNABORTED ECONNREFUSED ECONNRESET EDEADLK EDESTADDRREQ EDOM EDQUOT EEXIST EFAULT EFBIG EHOSTDOWN EHOSTUNREACH
    EIDRM EILSEQ EINPROGRESS EINTR EINVAL EIO EISCONN EISDIR ELOOP EMFILE EMLINK EMSGSIZE EMULTIHOP ENAMETOOLONG
    ENETDOWN ENETRESET ENETUNREACH ENFILE ENOBUFS ENODATA ENODEV ENOENT ENOEXEC ENOLCK ENOLINK ENOMEM ENOMSG
    ENOPROTOOPT ENOSPC ENOSR ENOSTR ENOSYS ENOTBLK ENOTCONN ENOTDIR ENOTEMPTY ENOTRECOVERABLE ENOTSOCK ENOTSUP
    ENOTTY ENXIO EOPNOTSUPP EOVERFLOW EOWNERDEAD EPERM EPFNOSUPPORT EPIPE EPROTO EPROTONOSUPPORT EPROTOTYPE ERANGE
    EROFS ESHUTDOWN ESOCKTNOSUPPORT ESPIPE ESRCH ESTALE ETIME ETIMEDOUT ETOOMANYREFS ETXTBSY EUSERS EWOULDBLOCK
    EXDEV ERESOLVE ELIFECYCLE EJSONPARSE EUSAGE EINTEGRITY EBADENGINE EBADPLATFORM ENOTFOUND
    """.split()
)
"""The names of errno (POSIX and Linux, the same on every machine), and those that npm and Node add."""

_SIGNALS: Final = frozenset(
    """
    SIGABRT SIGALRM SIGBUS SIGCHLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGKILL SIGPIPE SIGPROF SIGPWR SIGQUIT
    SIGSEGV SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU
    SIGXFSZ
    """.split()
)
_PRODUCTS: Final = frozenset({"Node.js", "Next.js", "Vue.js", "Nuxt.js", "React.js", "Express.js", "Three.js", "D3.js"})
"""Names of programs that look like files."""

_NAMED_ERROR: Final = re.compile(
    r"(?:[A-Z][A-Za-z0-9_]{2,80}(?:Error|Exception|Warning|Timeout|Failure|Interrupt|Exit|Iteration|Group)|Error|Exception"
    r"|panic)\Z"
)


def is_error_name(name: str) -> bool:
    """Return whether a word has the form of an error name: ``ValueError``, ``ENOENT``, ``TS2345``, ``SIGSEGV``."""
    return bool(_NAMED_ERROR.match(name) or _CODE.fullmatch(name)) or _is_capital_error(name)


def _is_capital_error(name: str) -> bool:
    return name in _ERRNO or name in _SIGNALS or name.startswith("ERR_")


def _is_named(kind: ArtifactType, pattern: re.Pattern[str], name: str, behind: str) -> bool:
    """Return whether a match of a pattern is a name."""
    if pattern is _CAPITALS:
        return _is_capital_error(name)
    if kind == "lemma":  # ``Nat.add_comm``, not two sentences without a blank, nor ``Console.log``
        return any("_" in part or "'" in part for part in name.split(".")[1:])
    if kind == "file":
        return name not in _PRODUCTS
    if pattern is _EXCEPTION and name.endswith("Timeout"):  # a setting may be called so too
        return "." in name or behind == ":"
    return True


def artifacts_in(
    texts: Iterable[str], *, known: Sequence[Artifact] = (), version: int = VERSION
) -> tuple[Artifact, ...]:
    """Return ``known``, then the artifacts that the texts name, each name once, at most `MAX_ARTIFACTS`.

    ``version`` is that of the rules an entry was written for.
    """
    found = {one.name: one for one in known}
    patterns = _PATTERNS if version == VERSION else _FIRST_PATTERNS
    for text in texts:
        scanned = text[:MAX_SCANNED]
        for kind, pattern in patterns:
            for match in pattern.finditer(scanned):
                name = match.group(1).strip()
                if scanned[match.start(1) - 1 : match.start(1)] == "'":  # it stands in quotes, and is no primed name
                    name = name.removesuffix("'")
                if version == VERSION and not _is_named(kind, pattern, name, scanned[match.end(1) : match.end(1) + 1]):
                    continue
                if name and len(name) <= MAX_NAME:
                    found.setdefault(name, Artifact(kind, name))
    return tuple(found.values())[:MAX_ARTIFACTS]


MANUAL: Final = "manual"
"""The source type of a person's own notes, unless ``field_origin`` says otherwise; other sources are machines."""

ORIGINS: Final = ("human", "model", "rule")

EXPERIENCE: Final = "experience"
SOURCE: Final = "source"
"""The verbs of entries: experiences given as records, and a raw text that an adapter parses."""

EVENTS: Final = "events"
"""The payload's list of experiences, each a separate part that can be erased alone."""

MAX_EVENTS: Final = 1_000
"""Events of one call: they are one entry, whose transaction holds the lane's lock while they are applied."""

MAX_SEQ: Final = 2**31 - 1
"""The highest place in an episode: the limit of its column."""

REMEDY: Final = "an experience says what was tried (attempt) and where that can be looked up (source_ref)"


class SourcePayload(TypedDict, total=False):
    """The verbs ``experience`` (events as given) and ``source`` (a text from which they are extracted)."""

    events: list[dict[str, Any]]
    source_type: str
    text: str
    name: str
    source_ref: str
    occurred_at: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NEI:
    """One attempt from any source. ``attempt`` and ``source_ref`` are required.

    ``label`` is success, failure or unknown; unknown is decided by rules from explicit signals in ``observations`` and
    ``hints``, and otherwise stays unknown. ``payload`` and ``hints`` are stored unchanged (``resources.get_source``);
    ``hints`` may name ``artifacts`` (names, or ``{type, name}`` with type lemma, file, error_type or concept),
    ``constraints`` of the attempt (texts, or ``{"must_not": phrases}``), and ``failed`` or ``succeeded``.
    ``episode_id`` and ``seq`` order attempts towards one goal. ``field_origin`` names the author of each text: human,
    model or rule; by default human for ``source_type`` manual, else model. An attempt counts as a person's if it is
    manual and all its texts are human; otherwise it is a machine's, and a possible prompt injection is put into
    quarantine. An agent that reports its own run uses ``source_type`` run. ``external_id`` is your own name for the
    event: `get` finds it; an experience whose name another item of the user or namespace already has creates no event.
    """

    attempt: str = ""
    situation: str | None = None
    goal: str | None = None
    result: str | None = None
    reflection: str | None = None
    label: Label = "unknown"
    source_type: str = MANUAL
    source_ref: str = ""
    payload: Any = None
    observations: Any = None
    hints: Mapping[str, Any] | None = None
    episode_id: str | None = None
    seq: int | None = None
    occurred_at: Moment | None = None
    field_origin: Mapping[str, str] = field(default_factory=dict)
    external_id: str | None = None

    def to_mapping(self) -> dict[str, Any]:
        """Return the given fields, without those left out."""
        said = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in said.items() if value not in (None, "", {})}


FIELDS: Final = tuple(f.name for f in fields(NEI))


def checked_nei(given: object, *, now: datetime) -> dict[str, Any]:
    """Validate an experience and return it as an entry stores it. InputError names the field and the remedy."""
    said = _given_fields(given)
    for name in ("attempt", "source_ref"):
        if said.get(name) in (None, ""):
            raise InputError(f"{name} is missing: {REMEDY}", field=name)
    out: dict[str, Any] = {}
    for name in VIEWS:
        if said.get(name) not in (None, ""):
            out[name] = check_text(said[name], field=name)
    out["source_ref"] = check_text(said["source_ref"], field="source_ref")
    out["source_type"] = check_id(said.get("source_type", MANUAL), field="source_type")
    out["label"] = said.get("label", "unknown")
    if out["label"] not in LABELS:
        raise InputError(f"label must be one of {', '.join(LABELS)}; got {out['label']!r:.40}", field="label")
    for name in ("payload", "observations"):
        if said.get(name) is not None:
            out[name] = plain(said[name], field=name)
    return out | _parse_place(said, now) | _parse_hints(said) | _origins(said, out)


def _given_fields(given: object) -> dict[str, Any]:
    if isinstance(given, NEI):
        return given.to_mapping()
    if not isinstance(given, Mapping):
        raise InputError(
            f"an experience is an NEI or a mapping of its fields, not {type(given).__name__}; {REMEDY}", field="nei"
        )
    unknown = sorted(str(name) for name in given if name not in FIELDS)
    if unknown:
        raise InputError(f"{unknown[0]:.60} is no field of an experience; it has {', '.join(FIELDS)}", field=unknown[0])
    return {name: value for name, value in given.items() if value is not None}


def _parse_place(said: Mapping[str, Any], now: datetime) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if "occurred_at" in said:
        out["occurred_at"] = isoformat(parse_past(said["occurred_at"], field="occurred_at", now=now))
    for name in ("external_id", "episode_id"):
        if name in said:
            out[name] = check_id(said[name], field=name)
    if "seq" in said:
        seq = said["seq"]
        if isinstance(seq, bool) or not isinstance(seq, int) or not 0 <= seq <= MAX_SEQ:
            raise InputError(
                f"seq must be a whole number from 0, the place in the episode; got {seq!r:.40}", field="seq"
            )
        if "episode_id" not in out:
            raise InputError("seq is the place in an episode: give episode_id too", field="episode_id")
        out["seq"] = seq
    return out


def _parse_hints(said: Mapping[str, Any]) -> dict[str, Any]:
    hints = said.get("hints", {})
    if not isinstance(hints, Mapping):
        shape = f"such as {{'failed': True}}, not {type(hints).__name__}"
        raise InputError(f"hints must be a mapping, {shape}", field="hints")
    artifacts_of(hints)
    constraints_of(hints)
    return {"hints": plain(hints, field="hints")} if hints else {}


def _origins(said: Mapping[str, Any], texts: Mapping[str, Any]) -> dict[str, Any]:
    given = said.get("field_origin")
    if not given:
        return {}
    if not isinstance(given, Mapping):
        raise InputError(
            "field_origin must be a mapping of a text's field to human, model or rule", field="field_origin"
        )
    for name, origin in given.items():
        if name not in VIEWS or origin not in ORIGINS:
            raise InputError(
                f"field_origin has {name!r:.40}: {origin!r:.40}; it says of {', '.join(VIEWS)} whether a human, a model"
                " or a rule wrote it",
                field="field_origin",
            )
    return {"field_origin": {str(name): str(origin) for name, origin in given.items() if name in texts}}


def constraints_of(hints: Mapping[str, Any]) -> list[str]:
    """Return the constraints that hints name, as texts: they are part of the situation."""
    named = hints.get("constraints")
    return [] if named is None else as_texts(named, field="hints.constraints")


def artifacts_of(hints: Mapping[str, Any]) -> list[Artifact]:
    """Return the artifacts that hints name; a plain name is a concept."""
    named = hints.get("artifacts")
    if named is None:
        return []
    if not isinstance(named, list | tuple):
        raise InputError("hints.artifacts must be a list of names, or of {type, name}", field="hints.artifacts")
    out = []
    for one in named:
        given = one if isinstance(one, Mapping) else {"type": "concept", "name": one}
        kind: Any = given.get("type")
        if kind not in ARTIFACT_TYPES:
            raise InputError(
                f"an artifact's type must be one of {', '.join(ARTIFACT_TYPES)}; got {kind!r:.40}",
                field="hints.artifacts",
            )
        out.append(Artifact(kind, check_id(given.get("name"), field="hints.artifacts")))
    return list(dict.fromkeys(out))
