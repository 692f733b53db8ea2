"""The visitor of a page: key, role, language, theme, viewed scope, the token of forms, and the notice of an action.

A form is accepted only with the token given to the page (double submit cookie), and all cookies are
``SameSite=Strict``: another site can neither read the token nor send the cookie.
"""

import hmac
import secrets
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Final, Self
from urllib.parse import urlsplit

from fastapi import Depends, Form, Request, Response

from phronesis.core.api_keys import Role
from phronesis.core.ids import is_id
from phronesis.errors import Forbidden, PhronesisError, Unauthenticated
from phronesis.interfaces.authentication import Authenticator, Caller
from phronesis.interfaces.http.dependencies import address_of
from phronesis.memory import Memory

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "zh": "中文"}
"""Languages of the pages, each with its own name."""

DEFAULT: Final = "en"


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
    """Return the texts of a language, or English."""
    known = language if language in LANGUAGES else DEFAULT
    text = files("phronesis.interfaces.web").joinpath("words", f"{known}.toml").read_text("utf-8")
    return Words(known, _flat(tomllib.loads(text)))


def preferred_language(accepted: str) -> str:
    """Return the first available language of an ``Accept-Language`` header, or English."""
    for part in accepted.split(","):
        language = part.partition(";")[0].strip().lower().partition("-")[0]
        if language in LANGUAGES:
            return language
    return DEFAULT


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    out: dict[str, str] = {}
    for name, value in table.items():
        out |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return out


SESSION: Final = "phronesis_session"
FORM_TOKEN: Final = "phronesis_form"  # noqa: S105 - a cookie's name
LANGUAGE: Final = "phronesis_language"
THEME: Final = "phronesis_theme"
THEMES: Final = ("auto", "light", "dark")
PERSON: Final = "user"
"""Actor of actions on a page without a key: the person at the browser."""

YEAR: Final = 365 * 24 * 3600
"""Seconds for which a browser keeps the language and the theme."""


@dataclass(frozen=True, slots=True)
class ViewScope:
    """The scope being viewed: a user, a namespace, or the whole tenant for an admin who names neither."""

    user_id: str | None = None
    namespace: str | None = None
    across: str | None = None

    @property
    def scope(self) -> dict[str, Any]:
        """Return the arguments of verbs that may look across the tenant."""
        return {"user_id": self.user_id, "namespace": self.namespace, "across": self.across}

    @property
    def owner(self) -> dict[str, Any]:
        """Return the arguments of verbs on one lane and the shared namespace."""
        return {"user_id": self.user_id, "namespace": self.namespace}

    @property
    def named(self) -> dict[str, str]:
        """Return the query parameters that keep this scope in a link."""
        return {
            name: value for name, value in (("user", self.user_id), ("namespace", self.namespace)) if value is not None
        }


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
    secure: bool

    @property
    def memory(self) -> Memory:
        """The memory of the visitor's tenant."""
        return self.caller.memory

    @property
    def actor(self) -> str:
        """The actor recorded for actions on the page."""
        return self.caller.actor if self.caller.key is not None else PERSON

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

    def check(self, token: str, role: Role = Role.WRITE) -> None:
        """Raise Forbidden unless the form came from one of our pages and the key has the role."""
        if self.new_token or not hmac.compare_digest(token.encode(), self.form_token.encode()):
            raise Forbidden(
                "token: this form is from an older page; go back, load the page again and send it anew", field="token"
            )
        self.caller.needs(role)


@dataclass(frozen=True, slots=True)
class VisitorFactory:
    """Creates the Visitor of a request. ``secure`` cookies are sent over HTTPS only."""

    admission: Authenticator

    def visitor(self, request: Request) -> Visitor:
        """Return the visitor; Unauthenticated when a valid key is needed and absent.

        A key determines memory and role even on a server that needs none. RateLimited: too many calls.
        """
        try:
            caller = self._caller(request.cookies.get(SESSION))
        except Unauthenticated:
            self.admission.count(None, address_of(request))
            raise
        self.admission.count(caller, address_of(request))
        request.state.caller = caller
        return self._visitor(request, caller)

    def words_and_theme(self, request: Request) -> tuple[Words, str]:
        """Return the language and theme of any request: for the login page and for errors."""
        return _words(request), _theme(request)

    def known_visitor(self, request: Request) -> Visitor | None:
        """Return the visitor of an error's page, which counts as no call; None without a valid key."""
        caller: Caller | None = getattr(request.state, "caller", None)
        try:
            return self._visitor(request, caller or self._caller(request.cookies.get(SESSION)))
        except PhronesisError:
            return None

    def _caller(self, token: str | None) -> Caller:
        try:
            return self.admission.admit(token)
        except Unauthenticated:
            if token is None or not self.admission.open_to_anybody():
                raise
            return self.admission.admit(None)  # the cookie holds a key that no longer exists

    def _visitor(self, request: Request, caller: Caller) -> Visitor:
        token = request.cookies.get(FORM_TOKEN)
        return Visitor(
            request=request,
            caller=caller,
            words=_words(request),
            theme=_theme(request),
            form_token=token or secrets.token_urlsafe(32),
            new_token=token is None,
            looking=_view_scope(request, caller),
            secure=request.url.scheme == "https",
        )


def set_cookie(response: Response, name: str, value: str, *, secure: bool, age: int | None = None) -> None:
    """Set an HttpOnly, SameSite=Strict cookie; ``age`` in seconds, None until the browser closes."""
    response.set_cookie(name, value, max_age=age, httponly=True, samesite="strict", secure=secure, path="/")


def visitor_of(request: Request) -> Visitor:
    """Return the visitor: the dependency of pages."""
    reception: VisitorFactory = request.app.state.reception
    return reception.visitor(request)


Visiting = Annotated[Visitor, Depends(visitor_of)]
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


def is_stranger(error: Exception) -> bool:
    """Return whether an error asks for a key."""
    return isinstance(error, Unauthenticated)


def _words(request: Request) -> Words:
    chosen = request.cookies.get(LANGUAGE) or preferred_language(request.headers.get("accept-language", ""))
    return words_of(chosen)


def _theme(request: Request) -> str:
    theme = request.cookies.get(THEME, "")
    return theme if theme in THEMES else THEMES[0]


def _view_scope(request: Request, caller: Caller) -> ViewScope:
    user, namespace = (request.query_params.get(name) or None for name in ("user", "namespace"))
    user = user or caller.user_id
    across = "tenant" if user is None and namespace is None and caller.role >= Role.ADMIN else None
    return ViewScope(user, namespace, across)


NOTICE: Final = "phronesis_notice"
MAX_UNDONE: Final = 80
"""Maximum entries that one notice undoes: a cookie has 4,096 bytes."""

SECONDS: Final = 60
"""Time for which a browser keeps a notice that no page has shown."""

_PARTS: Final = 4


@dataclass(frozen=True, slots=True)
class Notice:
    """The result of an action: its text is ``done.<action>``. ``entries``, newest first, are those that undo it."""

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


def take_notice(request: Request, response: Response) -> None:
    """Forget the notice of a request, since its page shows it."""
    if NOTICE in request.cookies:
        response.delete_cookie(NOTICE, path="/")


def notice_of(request: Request) -> Notice | None:
    """Return the notice that the next page shows."""
    return Notice.parse(request.cookies.get(NOTICE, ""))


def leave_notice(response: Response, notice: Notice, *, secure: bool) -> None:
    """Keep a notice for the page to which a response leads."""
    set_cookie(response, NOTICE, str(notice), secure=secure, age=SECONDS)
