"""The visitor of a page: key, role, language, theme, the scope being viewed, and the token of forms.

A form is accepted only with the token given to the page (double submit cookie), and all cookies are
``SameSite=Strict``: another site can neither read the token nor send the cookie.
"""

import hmac
import secrets
from dataclasses import dataclass
from typing import Annotated, Any, Final
from urllib.parse import urlsplit

from fastapi import Depends, Request, Response

from phronesis.core.api_keys import Role
from phronesis.errors import Forbidden, Unauthenticated
from phronesis.interfaces.authentication import Admission, Caller
from phronesis.interfaces.http.dependencies import address_of
from phronesis.interfaces.web.words import Words, preferred, words_of
from phronesis.memory import Memory

SESSION: Final = "phronesis_session"
FORM_TOKEN: Final = "phronesis_form"  # noqa: S105 - a cookie's name
LANGUAGE: Final = "phronesis_language"
THEME: Final = "phronesis_theme"
THEMES: Final = ("auto", "light", "dark")
PERSON: Final = "user"
"""The actor of what is done on a page where no key says who does it: somebody sits before it."""

YEAR: Final = 365 * 24 * 3600
"""Seconds that a browser keeps the language and the theme."""


@dataclass(frozen=True, slots=True)
class Looking:
    """Whose memory is looked at: a user's, a namespace, or, for an admin who names nobody, the whole tenant."""

    user_id: str | None = None
    namespace: str | None = None
    across: str | None = None

    @property
    def scope(self) -> dict[str, Any]:
        """Return the arguments of verbs that may look across the tenant."""
        return {"user_id": self.user_id, "namespace": self.namespace, "across": self.across}

    @property
    def owner(self) -> dict[str, Any]:
        """Return the arguments of verbs that look into one lane and the shared namespace."""
        return {"user_id": self.user_id, "namespace": self.namespace}

    @property
    def named(self) -> dict[str, str]:
        """Return what a link must carry to look at the same."""
        return {
            name: value for name, value in (("user", self.user_id), ("namespace", self.namespace)) if value is not None
        }


@dataclass(frozen=True, slots=True)
class Visitor:
    """One request of one person. ``new_token``: the browser had none, and is given ``form_token`` with the answer."""

    request: Request
    caller: Caller
    words: Words
    theme: str
    form_token: str
    new_token: bool
    looking: Looking
    secure: bool

    @property
    def memory(self) -> Memory:
        """The memory of the visitor's tenant."""
        return self.caller.memory

    @property
    def actor(self) -> str:
        """Who what is done here is put down to."""
        return self.caller.actor if self.caller.key is not None else PERSON

    @property
    def here(self) -> str:
        """The address of this page, for a form to come back to."""
        url = self.request.url
        return f"{url.path}?{url.query}" if url.query else url.path

    @property
    def may_write(self) -> bool:
        """Return whether pages show what changes something."""
        return self.caller.role >= Role.WRITE

    @property
    def is_admin(self) -> bool:
        """Return whether pages show what only an admin may do."""
        return self.caller.role >= Role.ADMIN

    @property
    def partial(self) -> bool:
        """Return whether htmx asks for a part of a page."""
        return "hx-request" in self.request.headers

    def check(self, token: str, role: Role = Role.WRITE) -> None:
        """Raise Forbidden unless the form came from a page of ours and the key allows what it asks for."""
        if self.new_token or not hmac.compare_digest(token.encode(), self.form_token.encode()):
            raise Forbidden("token: this form is from an older page; go back, load the page again and send it anew",
                            field="token")  # fmt: skip
        self.caller.needs(role)


@dataclass(frozen=True, slots=True)
class Reception:
    """Makes a Visitor of a request. ``secure`` cookies are sent over HTTPS alone."""

    admission: Admission

    def visitor(self, request: Request) -> Visitor:
        """Return who asks; Unauthenticated when a key is needed and there is none that is good.

        A key says whose memory is shown and what may be done, where the server needs none too. RateLimited: too often.
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
        """Return the language and theme of a request, whoever asks: for the login page and for errors."""
        return _words(request), _theme(request)

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
            request=request, caller=caller, words=_words(request), theme=_theme(request),
            form_token=token or secrets.token_urlsafe(32), new_token=token is None,
            looking=_looking(request, caller), secure=request.url.scheme == "https",
        )  # fmt: skip


def set_cookie(response: Response, name: str, value: str, *, secure: bool, age: int | None = None) -> None:
    """Put a cookie that no script reads and no other site sends; ``age`` in seconds, None until the browser closes."""
    response.set_cookie(name, value, max_age=age, httponly=True, samesite="strict", secure=secure, path="/")


def visitor_of(request: Request) -> Visitor:
    """Return who asks, for the signatures of pages."""
    reception: Reception = request.app.state.reception
    return reception.visitor(request)


Visiting = Annotated[Visitor, Depends(visitor_of)]
"""A page's first argument."""


def is_same_site(request: Request) -> bool:
    """Return whether a form was sent by a page of this server, as the browser says: it alone writes these headers."""
    sent = request.headers.get("sec-fetch-site")
    if sent is not None:
        return sent in {"same-origin", "none"}
    origin = request.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == request.url.netloc


def is_stranger(error: Exception) -> bool:
    """Return whether an error asks for a key."""
    return isinstance(error, Unauthenticated)


def _words(request: Request) -> Words:
    chosen = request.cookies.get(LANGUAGE) or preferred(request.headers.get("accept-language", ""))
    return words_of(chosen)


def _theme(request: Request) -> str:
    theme = request.cookies.get(THEME, "")
    return theme if theme in THEMES else THEMES[0]


def _looking(request: Request, caller: Caller) -> Looking:
    user, namespace = (request.query_params.get(name) or None for name in ("user", "namespace"))
    across = "tenant" if user is None and namespace is None and caller.role >= Role.ADMIN else None
    return Looking(user, namespace, across)
