"""Drafts of L1 events, and extraction of the artifacts that a text names: files, error types, lemmas, code spans.

Word borders are ASCII borders, since Chinese text does not separate Latin names by blanks.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any, Final, Literal

from phronesis.core.relations import Origin
from phronesis.core.timestamps import isoformat, parse_moment

# Drafts: an attempt as a source reports it, before it is an item, and its artifacts.

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
    for text in texts:
        scanned = text[:MAX_SCANNED]
        for kind, pattern in _PATTERNS if version == VERSION else _FIRST_PATTERNS:
            for match in pattern.finditer(scanned):
                name = match.group(1).strip()
                if scanned[match.start(1) - 1 : match.start(1)] == "'":  # it stands in quotes, and is no primed name
                    name = name.removesuffix("'")
                if version == VERSION and not _is_named(kind, pattern, name, scanned[match.end(1) : match.end(1) + 1]):
                    continue
                if name and len(name) <= MAX_NAME:
                    found.setdefault(name, Artifact(kind, name))
    return tuple(found.values())[:MAX_ARTIFACTS]
