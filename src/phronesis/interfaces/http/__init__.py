"""HTTP API: the verbs of Memory as routes."""

from typing import Final

PREFIX: Final = "/api/v1"
"""What the path of every route begins with, but for those that say how the server is."""

UPLOAD: Final = f"{PREFIX}/resources/upload"
"""The one route whose body is a form with a file."""
