"""Login and logout, and the browser's preferences: language and theme."""

from typing import Annotated, Final

from fastapi import Form, Request, Response

from phronesis.errors import Forbidden, Unauthenticated
from phronesis.interfaces.http.dependencies import address_of
from phronesis.interfaces.web.rendering import bare_page
from phronesis.interfaces.web.routing import back, make_router, own_path
from phronesis.interfaces.web.session import (
    FORM_TOKEN,
    LANGUAGE,
    SESSION,
    THEME,
    THEMES,
    YEAR,
    VisitorFactory,
    is_same_site,
    set_cookie,
)
from phronesis.interfaces.web.words import LANGUAGES

SESSION_AGE: Final = 12 * 3600
"""Seconds until a browser discards the key: a working day."""

router = make_router()


@router.get("/login")
def login_page(request: Request, next: str = "/") -> Response:  # noqa: A002 - the query's name
    """Ask for an API key."""
    reception: VisitorFactory = request.app.state.reception
    words, theme = reception.words_and_theme(request)
    return bare_page(words, theme, "login.html", status=200, next=own_path(next), wrong=False)


@router.post("/login")
def login(request: Request, key: Annotated[str, Form()], next: Annotated[str, Form()] = "/") -> Response:  # noqa: A002
    """Take an API key, and keep it in a cookie that no script reads. Each try counts for the address it comes from."""
    _check_origin(request)
    reception: VisitorFactory = request.app.state.reception
    reception.admission.count(None, address_of(request))
    try:
        reception.admission.admit(key.strip())
    except Unauthenticated:
        words, theme = reception.words_and_theme(request)
        return bare_page(words, theme, "login.html", status=401, next=own_path(next), wrong=True)
    response = back(next)
    set_cookie(response, SESSION, key.strip(), secure=request.url.scheme == "https", age=SESSION_AGE)
    return response


@router.post("/logout")
def logout(request: Request) -> Response:
    """Forget the key."""
    _check_origin(request)
    response = back("/login")
    for name in (SESSION, FORM_TOKEN):
        response.delete_cookie(name, path="/")
    return response


@router.post("/preferences")
def preferences(
    request: Request,
    next: Annotated[str, Form()] = "/",  # noqa: A002 - the form's name
    language: Annotated[str, Form()] = "",
    theme: Annotated[str, Form()] = "",
) -> Response:
    """Remember the language or the theme in the browser."""
    _check_origin(request)
    response, secure = back(next), request.url.scheme == "https"
    if language in LANGUAGES:
        set_cookie(response, LANGUAGE, language, secure=secure, age=YEAR)
    if theme in THEMES:
        set_cookie(response, THEME, theme, secure=secure, age=YEAR)
    return response


def _check_origin(request: Request) -> None:
    """Raise Forbidden for a cross-site form: the login forms follow no page of ours, so they carry no token."""
    if not is_same_site(request):
        raise Forbidden("origin: this form was sent by another site", field="origin")
