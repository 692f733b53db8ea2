"""Documents of given sections, ingested as Markdown."""

from collections.abc import Mapping

from phronesis import Memory
from phronesis.resources.documents import IngestedResource


def shelve(
    memory: Memory, uri: str, title: str, sections: Mapping[str, str], *, user_id: str = "alice"
) -> IngestedResource:
    """Ingest a document of these sections, by heading."""
    text = "\n\n".join(f"# {heading}\n\n{said}" for heading, said in sections.items())
    return memory.resources.ingest(
        text, uri=uri, title=title, media_type="text/markdown", type="manual", user_id=user_id
    )
