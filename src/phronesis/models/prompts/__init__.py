"""The prompts, one file for each role."""

from importlib import resources


def prompt(name: str) -> str:
    """Return the text of ``<name>.md``."""
    return resources.files(__name__).joinpath(f"{name}.md").read_text(encoding="utf-8").strip()
