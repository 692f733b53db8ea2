"""The pages of reference, made from the code: ``python -m phronesis.interfaces.reference docs`` writes them.

Every page is a function without arguments that gives Markdown; a test holds the pages in ``docs/`` equal to them.
"""

from collections.abc import Callable, Mapping
from typing import Final

from phronesis.interfaces.reference.commands import commands_page
from phronesis.interfaces.reference.python import errors_page, memory_page, policy_page, records_page

PAGES: Final[Mapping[str, Callable[[], str]]] = {
    "cli.md": commands_page,
    "reference/memory.md": memory_page,
    "reference/records.md": records_page,
    "reference/errors.md": errors_page,
    "reference/policy.md": policy_page,
}
"""Of each page: its path under ``docs/``, and what gives its text."""
