"""HTTP API: the verbs of Memory as routes."""

from typing import Final

PREFIX: Final = "/api/v1"
"""Path prefix of every route except the health checks."""

UPLOAD: Final = f"{PREFIX}/resources/upload"
"""The one route whose body is a form with a file."""
