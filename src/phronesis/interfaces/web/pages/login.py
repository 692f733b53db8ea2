"""Login, preferences, keys, and the consent to an OAuth client.

The page of consent asks for the key each time, since cookies are not sent along from the client's site; the request
stands in its form, and is checked again when the form comes back.
"""

import hmac
import secrets
from typing import TYPE_CHECKING, Final

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from phronesis.core.api_keys import ApiKey, Role
from phronesis.errors import Forbidden, Unauthenticated
from phronesis.interfaces.authentication import Authenticator
from phronesis.interfaces.http.dependencies import address_of
from phronesis.interfaces.web.rendering import HEADERS, back, bare_page, make_router, own_path, page
from phronesis.interfaces.web.session import (
    FORM_TOKEN,
    LANGUAGE,
    LANGUAGES,
    SESSION,
    THEME,
    THEMES,
    FormText,
    Sending,
    Visiting,
    Visitor,
    is_same_site,
    set_cookie,
)

if TYPE_CHECKING:
    from phronesis.interfaces.http.oauth import Approval, OAuthProvider

YEAR: Final = 365 * 24 * 3600
"""Seconds for which a browser keeps the language and the theme."""

SESSION_AGE: Final = 12 * 3600
"""Seconds until a browser discards the key: a working day."""

router = make_router()


@router.get("/login")
def login_page(request: Request, next: str = "/") -> Response:
    """Ask for an API key."""
    return bare_page(request, "login.html", status=200, next=own_path(next), wrong=False)


@router.post("/login")
def login(request: Request, key: FormText, next: FormText = "/") -> Response:
    """Take an API key, and keep it in a cookie that no script reads. Each try counts for the address it comes from."""
    _check_origin(request)
    admission: Authenticator = request.app.state.reception
    admission.count(None, address_of(request))
    try:
        admission.authenticate(key.strip())
    except Unauthenticated:
        return bare_page(request, "login.html", status=401, next=own_path(next), wrong=True)
    response = back(next)
    set_cookie(request, response, SESSION, key.strip(), age=SESSION_AGE)
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
def preferences(request: Request, next: FormText = "/", language: FormText = "", theme: FormText = "") -> Response:
    """Remember the language or the theme in the browser."""
    _check_origin(request)
    response = back(next)
    for name, value, known in ((LANGUAGE, language, LANGUAGES), (THEME, theme, THEMES)):
        if value in known:
            set_cookie(request, response, name, value, age=YEAR)
    return response


def _check_origin(request: Request) -> None:
    """Raise Forbidden for a cross-site form: the login forms follow no page of ours, so they carry no token."""
    if not is_same_site(request):
        raise Forbidden("origin: this form was sent by another site", field="origin")


@router.get("/keys")
def keys(visitor: Visiting) -> Response:
    """List keys and grants, the newest first: an admin sees all, a user their own."""
    _check_right(visitor)
    listed = sorted(visitor.memory.admin.keys.list(), key=lambda key: (key.active, key.created_at), reverse=True)
    return page(visitor, "keys.html", keys=listed)


@router.post("/keys/revoke")
def revoke(visitor: Sending, id: FormText) -> Response:
    """Revoke a key, or what an OAuth client was granted."""
    _check_right(visitor)
    visitor.memory.admin.keys.revoke(id)
    return back("/keys")


def _check_right(visitor: Visitor) -> None:
    if not visitor.sees_keys:
        visitor.caller.require_role(Role.ADMIN)


FIELDS: Final = ("response_type", "client_id", "redirect_uri", "code_challenge", "scope", "state", "resource")
"""Parameters of an authorization request, as the form holds them."""

consent_router = make_router()


@consent_router.get("/consent")
async def consent_page(request: Request) -> Response:
    """Show which client asks, where the answer goes, and what it will be able to do."""
    provider: OAuthProvider = request.app.state.oauth
    approval = await provider.read_approval(request.query_params)
    return _consent_form(request, approval, dict(request.query_params))


@consent_router.post("/consent")
async def decide(request: Request) -> Response:
    """Send the client a code, or that the person declined."""
    form = {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
    token = request.cookies.get(FORM_TOKEN, "")
    same = hmac.compare_digest(form.get("token", "").encode(), token.encode())
    if not (token and same and is_same_site(request)):
        raise Forbidden("token: this form is from an older page; connect anew from the client", field="token")
    provider: OAuthProvider = request.app.state.oauth
    approval = await provider.read_approval(form)
    if form.get("decision") != "approve":
        return RedirectResponse(approval.answer(error="access_denied"), status_code=303)
    request.app.state.sign_ins.take(address_of(request))
    key = await run_in_threadpool(_key_of, request, form.get("key", "").strip())
    if key is None or key.user_id is None:
        return _consent_form(request, approval, form, wrong="wrong" if key is None else "unbound")
    code = await run_in_threadpool(provider.grants.issue_code, approval.client.client_id, key, approval.data)
    return RedirectResponse(approval.answer(code=code), status_code=303)


def _key_of(request: Request, token: str) -> ApiKey | None:
    admission: Authenticator = request.app.state.reception
    try:
        return admission.authenticate(token).key
    except Unauthenticated:
        return None


def _consent_form(request: Request, approval: "Approval", given: dict[str, str], *, wrong: str = "") -> Response:
    token = request.cookies.get(FORM_TOKEN) or secrets.token_urlsafe(32)
    response = bare_page(
        request,
        "consent.html",
        status=401 if wrong else 200,
        approval=approval,
        fields={name: given[name] for name in FIELDS if name in given},
        token=token,
        wrong=wrong,
    )
    set_cookie(request, response, FORM_TOKEN, token)
    # Browsers apply form-action to redirects too.
    policy = HEADERS["Content-Security-Policy"].replace("form-action 'self'", f"form-action 'self' {approval.origin}")
    response.headers["Content-Security-Policy"] = policy
    return response
