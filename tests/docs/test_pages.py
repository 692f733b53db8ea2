"""The pages of docs/: each is in the navigation and reachable, every link resolves, and the examples run."""

import os
import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
import yaml

from model_server import ModelServer
from phronesis.interfaces.cli.dispatch import run
from pug_server import Pug
from shown_commands import shown_commands, unknown_words

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))
LINK = re.compile(r"\[[^\]\n]*(?:\n[^\]\n]*)?\]\(([^()\s]+)\)")
EXAMPLES = [
    "start.md",
    "concepts.md",
    "message-to-memory.md",
    "how-to/chats.md",
    "how-to/import.md",
    "how-to/langmem.md",
    "zh/start.md",
]
"""Pages whose examples run here, in their order: Python, commands and files."""
PYTHON = [
    "how-to/claims.md",
    "how-to/context.md",
    "how-to/documents.md",
    "how-to/entities.md",
    "how-to/experience.md",
    "how-to/forgetting.md",
    "how-to/http.md",
    "how-to/mcp.md",
    "how-to/models.md",
    "how-to/reasoning.md",
    "how-to/traits.md",
    "operations.md",
    "zh/concepts.md",
    "zh/context.md",
    "zh/documents.md",
    "zh/experience.md",
    "zh/forgetting.md",
    "zh/frameworks.md",
    "zh/mcp.md",
    "zh/models.md",
    "zh/reasoning.md",
    "zh/server.md",
    "zh/traits.md",
]
"""Pages of whose examples the Python runs; that of the policies and of the client has tests beside this one."""

BLOCK = re.compile(r"(?:^<!-- file: (\S+) -->\n)?^```(python|sh|json|markdown)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NOT_RUN = ("pip ", "export ", "make ")


def words(page: str) -> str:
    """Return a page without its blocks of code: what stands there is no link."""
    text = (DOCS / page).read_text("utf-8")
    return re.sub(r"`[^`\n]+`", "", re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE))


def in_navigation(entries: object) -> list[str]:
    if isinstance(entries, str):
        return [entries]
    inner = list(entries.values()) if isinstance(entries, dict) else entries
    assert isinstance(inner, list)
    return [page for entry in inner for page in in_navigation(entry)]


def anchors(path: Path) -> set[str]:
    """Return the anchors of a page's headings, as Markdown's table of contents makes them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)
    found = set()
    for heading in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
        found.add(re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower()))
    return found


def broken(page: str) -> list[str]:
    found = []
    for link in LINK.findall(words(page)):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = unquote(link).partition("#")
        target = (DOCS / page).parent / path if path else DOCS / page
        missing = not target.exists()
        if missing or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            found.append(link)
    return found


CONFIGURATION = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))


def test_every_page_is_in_the_navigation_once_and_no_other() -> None:
    assert sorted(in_navigation(CONFIGURATION["nav"])) == PAGES, "add the page to nav in mkdocs.yml"


def test_every_link_and_anchor_leads_somewhere() -> None:
    assert [one for page in PAGES for one in broken(page)] == []


def test_the_front_page_leads_to_every_page_that_a_person_reads() -> None:
    seen, waiting = set[str](), ["index.md"]
    while waiting:
        page = waiting.pop()
        seen.add(page)
        for link in LINK.findall(words(page)):
            path = link.partition("#")[0]
            if path.endswith(".md") and ":" not in path:
                name = os.path.normpath(
                    (Path(page).parent / path).as_posix()
                )  # memory-types.md is a link: not resolved
                waiting += [name] if name in PAGES and name not in seen else []
    assert [page for page in PAGES if page not in seen and not page.startswith("decisions/")] == []


@pytest.mark.parametrize("page", EXAMPLES)
def test_its_examples_run_in_order(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PHRONESIS_EMBEDDER", "none")
    monkeypatch.delenv("PHRONESIS_POLICY", raising=False)
    names: dict[str, object] = {}
    ran = 0
    for file, language, block in BLOCK.findall((DOCS / page).read_text("utf-8")):
        if file:
            Path(file).write_text(block, "utf-8")
        elif language == "python":
            exec(compile(block, page, "exec"), names)  # noqa: S102 - our own words
            ran += 1
        elif language == "sh":
            for line in block.splitlines():
                if line.strip() and not line.startswith(NOT_RUN):
                    program, *arguments = shlex.split(line, comments=True)
                    assert program == "phronesis", line
                    assert run(arguments) == 0, line
                    ran += 1
    assert ran >= 3


@pytest.mark.parametrize("page", PYTHON)
def test_its_python_runs_in_order(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PHRONESIS_EMBEDDER", "none")
    names: dict[str, Any] = {}
    blocks = [block for _, language, block in BLOCK.findall((DOCS / page).read_text("utf-8")) if language == "python"]
    assert blocks
    with ModelServer(Pug()) as pubchem:
        monkeypatch.setenv("PHRONESIS_PUBCHEM_URL", pubchem.base_url)
        for block in blocks:
            exec(compile(block, page, "exec"), names)  # noqa: S102 - our own words
    assert bool(pubchem.requests) == (page == "how-to/reasoning.md")
    if "memory" in names:
        names["memory"].close()


def test_a_decision_record_has_at_most_sixty_lines() -> None:
    records = {path.name: len(path.read_text("utf-8").splitlines()) for path in (DOCS / "decisions").glob("[0-9]*.md")}
    assert {name: lines for name, lines in records.items() if lines > 60} == {}


@pytest.mark.parametrize("page", [page for page in PAGES if not page.startswith(("decisions/", "reference/"))])
def test_the_commands_that_a_page_shows_exist_with_their_options(page: str) -> None:
    text = (DOCS / page).read_text("utf-8")
    assert [word for line in shown_commands(text) for word in unknown_words(line)] == []
    for block in re.findall(r"^```py\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        compile(block, page, "exec")  # what needs a key or another package is not run


def test_every_page_with_examples_is_run_by_some_test() -> None:
    beside = Path(__file__).parent
    tests = [*beside.glob("test_*.py"), *(beside.parent / "conformance" / "frameworks").glob("test_*.py")]
    told = "".join(path.read_text("utf-8") for path in tests)
    shown = {page for page in PAGES if "```python\n" in (DOCS / page).read_text("utf-8")}
    shown -= {page for page in PAGES if page.startswith(("reference/", "decisions/"))}  # signatures; sketches
    # The last way is that of the page's framework, in its own environment.
    ways = ('"{}"', '"docs" / "{}"', 'python_of_page("{}")')
    names = {page: (page, page.removeprefix("how-to/").removesuffix(".md")) for page in shown}
    run = {page for page in shown if any(way.format(name) in told for way in ways for name in names[page])}
    assert sorted(shown - run) == []
