"""Notices: what an action came to, and the entries that undo it. A cookie keeps one until the next page."""

from dataclasses import dataclass
from typing import Final, Self

from fastapi import Request, Response

from phronesis.core.ids import is_id
from phronesis.interfaces.web.session import set_cookie

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
