"""A server of models, as its adapters need it."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Gateway:
    """Where a server is and what it asks for.

    ``base_url`` is the root that OpenAI's paths are added to, ``http://127.0.0.1:11434/v1`` for an Ollama on this
    machine. ``api_key`` is sent to that server alone, and shown nowhere.
    """

    name: str
    base_url: str
    api_key: str | None = field(default=None, repr=False)
