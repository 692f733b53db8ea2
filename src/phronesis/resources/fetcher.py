"""Fetch a URL over HTTP under the rules; every redirect is checked like the first request."""

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Final

from phronesis.errors import FetchFailed, FetchRefused, MissingExtra, ModelCancelled, ModelUnavailable
from phronesis.models.call_policy import Limits, never
from phronesis.resources.fetch_rules import FetchResult, FetchRules, Resolver

if TYPE_CHECKING:
    import httpx2

    from phronesis.resources.http_exchange import Answer

REMEDY: Final = 'pip install "phronesis[documents]"'

MAX_URL: Final = 8_000
"""Characters of a URL: the length that servers should support at least (RFC 9110, 4.1)."""

_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_OK: Final = 200


class WebFetcher:
    """Fetches over HTTP and HTTPS. Thread-safe: connections and cookies are not kept between calls.

    ``clock`` gives the time of the fetch, ``monotonic`` the seconds for the time limit; ``resolve`` the addresses of a
    name, by the system if None. Proxies and credentials of the environment are not used.
    """

    def __init__(
        self,
        *,
        clock: Callable[[], datetime],
        monotonic: Callable[[], float],
        resolve: Resolver | None = None,
        cancelled: Callable[[], bool] = never,
    ) -> None:
        self._clock = clock
        self._monotonic = monotonic
        self._resolve = resolve
        self._cancelled = cancelled

    def fetch(self, url: str, rules: FetchRules) -> FetchResult:
        """Return the document at ``url``, following redirects.

        FetchRefused: a rule forbids it; ``details["rule"]`` names it. FetchFailed: no connection, a time-out, or no
        success status, which is in ``details["status"]``. MissingExtra: the extra ``documents`` is not installed.
        """
        limits = Limits(self._monotonic, self._monotonic() + rules.seconds, self._cancelled, rules.max_bytes)
        target = allowed_url(url, rules)
        for _ in range(rules.max_redirects + 1):
            answer = self._ask_server(target, rules, limits)
            location = answer.headers.get("location")
            if answer.status in _REDIRECTS and location:
                target = allowed_url(location, rules, base=target)
                continue
            if answer.status != _OK:
                raise FetchFailed(
                    f"url: {target.host} answered with HTTP {answer.status}; open the address in a browser to see why",
                    field="url",
                    details={"status": answer.status, "host": target.host},
                )
            return self._fetch_result(target, answer)
        raise _refusal_error(
            "max_redirects", f"it points on more than {rules.max_redirects} times; name the last address"
        )

    def _ask_server(self, target: "httpx2.URL", rules: FetchRules, limits: Limits) -> "Answer":
        import httpcore2  # noqa: PLC0415 - comes with the extra

        from phronesis.models.network import resolved  # noqa: PLC0415 - needs it
        from phronesis.resources.http_exchange import exchange  # noqa: PLC0415 - needs it

        try:
            return exchange(target, rules, limits, self._resolve or resolved)
        except ModelCancelled:  # its words are about models, as are those below
            raise FetchFailed("url: the call was cancelled", field="url", details={"host": target.host}) from None
        except (ModelUnavailable, httpcore2.TimeoutException):
            cause = "Timeout"
        except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
            cause = type(error).__name__
        late = limits.left <= 0.0
        problem = f"took longer than {rules.seconds:g} seconds" if late else f"was not reached ({cause})"
        raise FetchFailed(f"url: {target.host} {problem}; try again later", field="url", details={"host": target.host})

    def _fetch_result(self, target: "httpx2.URL", answer: "Answer") -> FetchResult:
        kind, _, parameters = answer.headers.get("content-type", "").partition(";")
        charset = None
        for parameter in parameters.split(";"):
            name, _, value = parameter.partition("=")
            if name.strip().lower() == "charset":
                charset = value.strip(" \t\"'") or None
        return FetchResult(
            url=str(target.copy_with(fragment=None)),
            status=answer.status,
            media_type=kind.strip().lower(),
            charset=charset,
            data=answer.body,
            fetched_at=self._clock(),
        )


def allowed_url(written: str, rules: FetchRules, *, base: "httpx2.URL | None" = None) -> "httpx2.URL":
    """Parse a URL and return it if the rules allow it, else raise FetchRefused. The host is checked by name only."""
    try:
        import httpx2  # noqa: PLC0415 - comes with the extra
    except ImportError as error:
        raise MissingExtra(f"url: documents are fetched with httpx2; {REMEDY}", field="url") from error
    try:
        url = httpx2.URL(written.strip()) if base is None else base.join(written.strip())
    except (httpx2.InvalidURL, ValueError):  # its message shows the address, which may hold a password
        raise _refusal_error("url", "it is no address; give one like https://example.org/guide.html") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise _refusal_error("scheme", "only addresses of http and https are fetched")
    if url.userinfo:
        raise _refusal_error("credentials", "it holds a user's name or password; such addresses are not fetched")
    if len(str(url)) > MAX_URL:
        raise _refusal_error("length", f"it is longer than {MAX_URL:,} characters")
    port = url.port or (443 if url.scheme == "https" else 80)
    if port not in rules.ports:
        raise _refusal_error("ports", f"port {port} is not among those that are fetched from")
    host = url.host.rstrip(".").lower()
    if any(_is_below(host, denied) for denied in rules.deny_hosts):
        raise _refusal_error("deny_hosts", f"{host} is denied by the policy")
    if rules.allow_hosts and not any(_is_below(host, allowed) for allowed in rules.allow_hosts):
        raise _refusal_error("allow_hosts", f"{host} is not among the hosts that the policy allows")
    return url


def _is_below(host: str, named: str) -> bool:
    name = named.strip().rstrip(".").lower().removeprefix("*.")
    return host == name or host.endswith(f".{name}")


def _refusal_error(rule: str, problem: str) -> FetchRefused:
    return FetchRefused(f"url: {problem}", field="url", details={"rule": rule})
