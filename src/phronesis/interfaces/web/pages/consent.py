"""The page of consent: a person signs in with their key, and lets an OAuth client use their memory or not.

The request stands in the form, and is checked again when the form comes back. The key is asked for each time: cookies
are not sent along from the client's site.
"""

import hmac
import secrets
from typing import Final

from fastapi import Request, Response
from fastapi.concurrency import run_in_threadpool
from fastapi.responses import RedirectResponse

from phronesis.core.api_keys import ApiKey
from phronesis.errors import Forbidden, Unauthenticated
from phronesis.interfaces.http.dependencies import address_of
from phronesis.interfaces.http.oauth import Approval, OAuthProvider
from phronesis.interfaces.web.rendering import bare_page
from phronesis.interfaces.web.routing import HEADERS, make_router
from phronesis.interfaces.web.session import FORM_TOKEN, VisitorFactory, is_same_site, set_cookie

FIELDS: Final = ("response_type", "client_id", "redirect_uri", "code_challenge", "scope", "state", "resource")
"""Parameters of an authorization request, as the form holds them."""

router = make_router()


@router.get("/consent")
async def consent_page(request: Request) -> Response:
    """Show which client asks, where the answer goes, and what it will be able to do."""
    approval = await _provider(request).read_approval(request.query_params)
    return _page(request, approval, dict(request.query_params))


@router.post("/consent")
async def decide(request: Request) -> Response:
    """Send the client a code, or that the person declined."""
    form = {name: value for name, value in (await request.form()).items() if isinstance(value, str)}
    token = request.cookies.get(FORM_TOKEN, "")
    same = hmac.compare_digest(form.get("token", "").encode(), token.encode())
    if not (token and same and is_same_site(request)):
        raise Forbidden("token: this form is from an older page; connect anew from the client", field="token")
    approval = await _provider(request).read_approval(form)
    if form.get("decision") != "approve":
        return RedirectResponse(approval.answer(error="access_denied"), status_code=303)
    request.app.state.sign_ins.take(address_of(request))
    key = await run_in_threadpool(_key_of, request, form.get("key", "").strip())
    if key is None or key.user_id is None:
        return _page(request, approval, form, wrong="wrong" if key is None else "unbound")
    grants = _provider(request).grants
    code = await run_in_threadpool(grants.issue_code, approval.client.client_id, key, approval.data)
    return RedirectResponse(approval.answer(code=code), status_code=303)


def _provider(request: Request) -> OAuthProvider:
    provider: OAuthProvider = request.app.state.oauth
    return provider


def _key_of(request: Request, token: str) -> ApiKey | None:
    reception: VisitorFactory = request.app.state.reception
    try:
        return reception.admission.admit(token).key
    except Unauthenticated:
        return None


def _page(request: Request, approval: Approval, given: dict[str, str], *, wrong: str = "") -> Response:
    reception: VisitorFactory = request.app.state.reception
    words, theme = reception.words_and_theme(request)
    token = request.cookies.get(FORM_TOKEN) or secrets.token_urlsafe(32)
    response = bare_page(
        words,
        theme,
        "consent.html",
        status=401 if wrong else 200,
        approval=approval,
        fields={name: given[name] for name in FIELDS if name in given},
        token=token,
        wrong=wrong,
    )
    set_cookie(response, FORM_TOKEN, token, secure=request.url.scheme == "https")
    # Browsers apply form-action to redirects too.
    policy = HEADERS["Content-Security-Policy"].replace("form-action 'self'", f"form-action 'self' {approval.origin}")
    response.headers["Content-Security-Policy"] = policy
    return response
