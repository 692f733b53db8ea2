"""Paths with ids in them: an id may hold a slash, written ``%2F``, and is one segment of the path all the same.

A server hands an application its path decoded, where such a slash looks like one that parts segments. So the gate puts
those two signs back that matter, and the routes below take them away again.
"""

from typing import Final
from urllib.parse import unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.types import Scope

from phronesis.interfaces.rest import PREFIX


class Segment(Convertor[str]):
    """One segment of a path, as whoever called wrote it."""

    regex = "[^/]+"

    def convert(self, value: str) -> str:
        """Give the text that a segment stands for."""
        return value.replace("%2F", "/").replace("%25", "%")

    def to_string(self, value: str) -> str:
        """Give the segment that stands for a text."""
        return value.replace("%", "%25").replace("/", "%2F")


_SEGMENT: Final = Segment()
register_url_convertor("segment", _SEGMENT)

RUN: Final = "/runs/{run_id:segment}"
USER: Final = "/users/{user_id:segment}"


def segmented(scope: Scope) -> str:
    """Give the path of a request, in which slashes part segments and nothing else."""
    path: str = scope["path"]
    raw: bytes = scope.get("raw_path") or b""
    if not path.startswith(f"{PREFIX}/"):
        return path
    segments = [unquote(one) for one in raw.decode("latin-1").split("/")]
    if "/".join(segments) != path:  # none was given, or a layer before this one made another path of it
        segments = path.split("/")
    return "/".join(map(_SEGMENT.to_string, segments))
