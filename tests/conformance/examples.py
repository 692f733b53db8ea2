"""The examples of the how-to pages: each block of Python of a page, ready to run."""

import re
from pathlib import Path
from types import CodeType

PAGES = Path(__file__).parents[2] / "docs" / "how-to"


def python_of_page(name: str) -> list[CodeType]:
    """Return the blocks of a page, in order; a page without one is an error."""
    text = (PAGES / f"{name}.md").read_text("utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert blocks, name
    return [compile(block, f"{name}.md", "exec") for block in blocks]
