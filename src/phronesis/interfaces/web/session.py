"""The visitor of a page: key, role, language, theme, viewed scope, the token of forms, and the notice of an action.

A form is accepted only with the token given to the page (double submit cookie), and all cookies are
``SameSite=Strict``: another site can neither read the token nor send the cookie.
"""

import hmac
import secrets
import tomllib
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Final, Self
from urllib.parse import urlsplit

from fastapi import Depends, Form, Request, Response

from phronesis.core.api_keys import Role
from phronesis.core.ids import is_id
from phronesis.core.items import Item
from phronesis.errors import Forbidden, NotFound, PhronesisError, Unauthenticated
from phronesis.interfaces.authentication import Authenticator, Caller
from phronesis.interfaces.http.dependencies import address_of
from phronesis.memory import Memory

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "zh": "中文"}
"""Languages of the pages, each with its own name."""

DEFAULT: Final = "en"

SESSION: Final = "phronesis_session"
FORM_TOKEN: Final = "phronesis_form"  # noqa: S105 - a cookie's name
LANGUAGE: Final = "phronesis_language"
NOTICE: Final = "phronesis_notice"
THEME: Final = "phronesis_theme"
THEMES: Final = ("auto", "light", "dark")


@dataclass(frozen=True, slots=True)
class Words:
    """Texts of one language: ``words("nav.home")``, with values for the placeholders of a text."""

    language: str
    table: Mapping[str, str]

    def __call__(self, name: str, /, **values: Any) -> str:
        """Return the text of a name; KeyError if there is none, since a page without text is a bug."""
        return self.table[name].format(**values) if values else self.table[name]

    def of(self, group: str, name: object) -> str:
        """Return the text for a value of a group, such as a kind; the value itself if the group does not have it."""
        return self.table.get(f"{group}.{name}", str(name))


@cache
def words_of(language: str) -> Words:
    """Return the texts of one of the languages."""
    text = files("phronesis.interfaces.web").joinpath("words", f"{language}.toml").read_text("utf-8")
    return Words(language, _flat(tomllib.loads(text)))


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    out: dict[str, str] = {}
    for name, value in table.items():
        out |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return out


@dataclass(frozen=True, slots=True)
class ViewScope:
    """The scope being viewed: a user, a namespace, or the whole tenant for an admin who names neither."""

    user_id: str | None = None
    namespace: str | None = None
    across: str | None = None

    @property
    def scope(self) -> dict[str, Any]:
        """Return the arguments of verbs that may look across the tenant."""
        return {**self.owner, "across": self.across}

    @property
    def owner(self) -> dict[str, Any]:
        """Return the arguments of verbs on one lane and the shared namespace."""
        return {"user_id": self.user_id, "namespace": self.namespace}

    @property
    def named(self) -> dict[str, str]:
        """Return the query parameters that keep this scope in a link."""
        given = {"user": self.user_id, "namespace": self.namespace}
        return {name: value for name, value in given.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Visitor:
    """One request of a visitor. ``new_token``: the browser had none, and gets ``form_token`` with the response."""

    request: Request
    caller: Caller
    words: Words
    theme: str
    form_token: str
    new_token: bool
    looking: ViewScope

    @property
    def memory(self) -> Memory:
        """The memory of the visitor's tenant."""
        return self.caller.memory

    @property
    def actor(self) -> str:
        """The actor recorded for actions on the page; without a key it is the person at the browser."""
        return self.caller.actor if self.caller.key is not None else "user"

    @property
    def here(self) -> str:
        """The address of the page in the browser, to which a form returns."""
        sent = self.request.headers.get("hx-current-url") if self.partial else None
        url = urlsplit(sent or str(self.request.url))
        return f"{url.path or '/'}?{url.query}" if url.query else url.path or "/"

    @property
    def referrer(self) -> str | None:
        """The address on this server from which the browser came, unless it is this page's."""
        url = urlsplit(self.request.headers.get("referer", ""))
        if url.netloc != self.request.url.netloc or url.path == self.request.url.path or url.path.startswith("//"):
            return None
        return f"{url.path}?{url.query}" if url.query else url.path

    @property
    def may_write(self) -> bool:
        """Return whether pages show writing actions."""
        return self.caller.role >= Role.WRITE

    @property
    def is_admin(self) -> bool:
        """Return whether pages show admin actions."""
        return self.caller.role >= Role.ADMIN

    @property
    def sees_keys(self) -> bool:
        """Return whether the visitor may list keys: an admin those of the tenant, a user their own."""
        return self.is_admin or self.caller.user_id is not None

    @property
    def partial(self) -> bool:
        """Return whether htmx requests a fragment of a page."""
        return "hx-request" in self.request.headers

    def items(self, ids: Iterable[str]) -> list[Item]:
        """Return the items that exist still; others were erased meanwhile."""
        found = []
        for one in ids:
            with suppress(NotFound):
                found.append(self.memory.get(one))
        return found

    def check(self, token: str, role: Role = Role.WRITE) -> None:
        """Raise Forbidden unless the form came from one of our pages and the key has the role."""
        if self.new_token or not hmac.compare_digest(token.encode(), self.form_token.encode()):
            raise Forbidden(
                "token: this form is from an older page; go back, load the page again and send it anew", field="token"
            )
        self.caller.require_role(role)


def visit(request: Request) -> Visitor:
    """Return the visitor; Unauthenticated when a valid key is needed and absent.

    A key determines memory and role even on a server that needs none. RateLimited: too many calls.
    """
    admission: Authenticator = request.app.state.reception
    try:
        caller = _caller(request)
    except Unauthenticated:
        admission.count(None, address_of(request))
        raise
    admission.count(caller, address_of(request))
    request.state.caller = caller
    return _visitor(request, caller)


def known_visitor(request: Request) -> Visitor | None:
    """Return the visitor of an error's page, which counts as no call; None without a valid key."""
    try:
        return _visitor(request, getattr(request.state, "caller", None) or _caller(request))
    except PhronesisError:
        return None


def _caller(request: Request) -> Caller:
    admission: Authenticator = request.app.state.reception
    token = request.cookies.get(SESSION)
    try:
        return admission.authenticate(token)
    except Unauthenticated:
        if token is None or not admission.open_to_anybody():
            raise
        return admission.authenticate(None)  # the cookie holds a key that no longer exists


def _visitor(request: Request, caller: Caller) -> Visitor:
    token = request.cookies.get(FORM_TOKEN)
    user, namespace = (request.query_params.get(name) or None for name in ("user", "namespace"))
    user = user or caller.user_id
    across = "tenant" if user is None and namespace is None and caller.role >= Role.ADMIN else None
    looking = ViewScope(user, namespace, across)
    words, theme = words_and_theme(request)
    return Visitor(request, caller, words, theme, token or secrets.token_urlsafe(32), token is None, looking)


def words_and_theme(request: Request) -> tuple[Words, str]:
    """Return the texts and theme of any request: the chosen ones, else the first language that the browser accepts."""
    accepted = (one.partition(";")[0] for one in request.headers.get("accept-language", "").split(","))
    wanted = [request.cookies.get(LANGUAGE), *(one.strip().lower().partition("-")[0] for one in accepted)]
    theme = request.cookies.get(THEME, "")
    language = next((one for one in wanted if one in LANGUAGES), DEFAULT)
    return words_of(language), theme if theme in THEMES else THEMES[0]


def set_cookie(request: Request, response: Response, name: str, value: str, *, age: int | None = None) -> None:
    """Set an HttpOnly, SameSite=Strict cookie; ``age`` in seconds, None until the browser closes."""
    secure = request.url.scheme == "https"
    response.set_cookie(name, value, max_age=age, httponly=True, samesite="strict", secure=secure, path="/")


Visiting = Annotated[Visitor, Depends(visit)]
"""Type of a page's first argument."""

FormText = Annotated[str, Form()]


def _sender_of(role: Role) -> Any:
    def check(visitor: Visiting, token: FormText) -> Visitor:
        visitor.check(token, role)
        return visitor

    return Depends(check)


Sending = Annotated[Visitor, _sender_of(Role.READ)]
Writing = Annotated[Visitor, _sender_of(Role.WRITE)]
Administering = Annotated[Visitor, _sender_of(Role.ADMIN)]
"""Types of the first argument of what takes a form: its token is checked, and the key's role."""


def is_same_site(request: Request) -> bool:
    """Return whether a form was sent by a page of this server, by headers that only the browser sets."""
    sent = request.headers.get("sec-fetch-site")
    if sent is not None:
        return sent in {"same-origin", "none"}
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.url.netloc


MAX_UNDONE: Final = 80
"""Maximum entries that one notice undoes: a cookie has 4,096 bytes."""

_PARTS: Final = 4


@dataclass(frozen=True, slots=True)
class Notice:
    """The result of an action: its text is ``done.<action>``, of ``review_<reason>`` that of the reason.

    ``entries``, newest first, are those that undo it.
    """

    action: str
    entries: tuple[str, ...] = ()
    count: int = 1
    failed: int = 0

    def __str__(self) -> str:
        entries = self.entries if len(self.entries) <= MAX_UNDONE else ()
        return f"{self.action}.{self.count}.{self.failed}.{'_'.join(entries)}"

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the notice of a cookie; None for any other text."""
        parts = text.split(".")
        if len(parts) != _PARTS or not (parts[1].isdecimal() and parts[2].isdecimal()):
            return None
        entries = tuple(one for one in parts[3].split("_") if is_id(one))
        return cls(parts[0], entries[:MAX_UNDONE], int(parts[1]), int(parts[2]))
