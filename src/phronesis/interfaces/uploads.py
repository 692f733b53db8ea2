"""Uploaded files, over HTTP and on the pages."""

import re
import tempfile
from pathlib import Path
from typing import Any, Final

from fastapi import UploadFile

from phronesis.errors import InputError
from phronesis.memory import Memory
from phronesis.resources.documents import IngestedResource

_ENDING: Final = re.compile(r"\.[A-Za-z0-9]{1,16}")
"""A file extension that may select a reader. Any other is dropped; a long one would exceed the name limit of most file
systems, which is in bytes.
"""

MAX_NAME: Final = 200
"""Maximum characters of an uploaded file's name, the last ones: they include its extension."""


def ingest_upload(
    memory: Memory, file: UploadFile, *, uri: str | None, title: str | None, **more: Any
) -> IngestedResource:
    """Ingest an uploaded file; readers examine its extension and content, as for a file on disk.

    A name given again is a new version of the same document, as with a file that is ingested by path.
    """
    name = Path(file.filename or "").name[-MAX_NAME:]
    if not name:
        raise InputError("the file needs a name: its ending says how it is read", field="file")
    most = memory.admin.components.documents.max_bytes
    body = file.file.read(most + 1)
    if len(body) > most:
        raise InputError(
            f"file: it has more than resources.max_bytes ({most:,}); split it, or raise the limit", field="file"
        )
    ending = Path(name).suffix
    with tempfile.TemporaryDirectory(prefix="phronesis-upload-") as folder:
        path = Path(folder, f"upload{ending if _ENDING.fullmatch(ending) else ''}")
        path.write_bytes(body)
        return memory.resources.ingest(path=path, uri=uri or f"upload:{name}", title=title or name, **more)
