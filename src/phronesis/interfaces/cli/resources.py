"""Commands of resources: ingest, list and show documents."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from phronesis.core.ids import short_id
from phronesis.core.items import Item
from phronesis.interfaces.cli.options import AS_OF, CURSOR, LIMIT, OWNER, ShortId, command
from phronesis.interfaces.cli.output import Progress, day, on_one_line, print_cut, print_lines

if TYPE_CHECKING:
    from phronesis.memory import Memory
    from phronesis.resources.documents import IngestedResource, Resource


def _say_ingested(ingested: Sequence["IngestedResource"]) -> None:
    for one in ingested:
        if one.document is None:
            print_lines(f"recorded, not read yet: entry {short_id(one.entry_id)}")
            continue
        print_lines(
            f"{short_id(one.document.id)}  {on_one_line(one.document.content)} (version {one.number}):"
            f" {len(one.sections)} new sections, {one.unchanged} as they were, {len(one.superseded)} ended",
            *(f"   in quarantine: {on_one_line(gated.text)}" for gated in one.gated),
        )


def _one_or_more(
    files: Sequence[Path] = (), page: str | None = None, text: str | None = None, **about: Any
) -> dict[str, Any]:
    given: list[dict[str, Any]] = [{"path": one} for one in files]
    given += [{name: value} for name, value in (("url", page), ("text", text)) if value is not None]
    if not given:
        raise click.UsageError("give a FILE, --page or --text")
    if len(given) > 1 and about.keys() & {"uri", "title"}:
        raise click.UsageError("--uri and --title are of one document: give one FILE, --page or --text")
    return {"given": given, **about}


@command(
    click.argument("files", metavar="FILE...", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path)),
    click.option("--page", metavar="URL", help="A page, if the policy allows fetching it."),
    click.option("--text", metavar="TEXT", help="A text."),
    click.option("--uri", metavar="URI", help="Its name: the same name again is a new version."),
    click.option("--title", metavar="TEXT", help="Its title; default: the one it has."),
    click.option("--type", metavar="NAME", help="Its type: manual, spec, memory_snapshot …"),
    *OWNER,
    show=_say_ingested,
    doing="",
    flush=True,
    checked=_one_or_more,
)
def add(memory: "Memory", given: Sequence[dict[str, Any]], **about: Any) -> Any:
    """Ingest documents: files, a page, or a text.

    Text, Markdown, reStructuredText, HTML, source code, notebooks; PDF and Office files with the extra 'documents'.
    A document that is held already becomes a new version of it, and only the sections that differ change.
    """
    ingested = []
    with Progress() as progress:
        for n, one in enumerate(given, start=1):
            ingested.append(memory.resources.ingest(**one, **about, actor="user"))
            progress("documents", n, len(given))
    return ingested


def _say_documents(found: Sequence[Item]) -> None:
    for item in found:
        version = f"version {item.data.get('number', 1)}, {len(item.data.get('sections', ()))} sections"
        print_cut(f"{short_id(item.id)}  {on_one_line(item.content)} ({version})")
        print_cut(f"   {day(item.updated_at)} {item.source_ref}")
    if not found:
        print_lines("no documents there; take one in with 'phronesis resources add FILE'")


@command(*OWNER, LIMIT, CURSOR, show=_say_documents)
def list_documents(memory: "Memory", **given: Any) -> Any:
    """List the documents that are held, newest first.

    Each with its title, its address and the number of its sections.
    """
    return memory.get_all(kinds=["document"], **given)


def _say_document(found: "Resource") -> None:
    print_lines(on_one_line(found.document.content), f"   {found.document.source_ref}")
    for version in found.versions:
        print_cut(
            f"   version {version.number} of {day(version.recorded_at)}: {version.characters:,} characters,"
            f" entry {short_id(version.entry_id)}"
        )
    for item in found.sections:
        path: Sequence[str] = item.data.get("path", ())
        heading = on_one_line(path[-1]) if path else "(before the first heading)"
        print_cut(f"{'  ' * len(path)}{heading}  [{short_id(item.id)}]")


@command(click.argument("document_id", metavar="ID", type=ShortId()), AS_OF, show=_say_document)
def show(memory: "Memory", document_id: str, **given: Any) -> Any:
    """Show a document: its versions, and its sections in order.

    ID is that of the document; a section is shown whole with get.
    """
    return memory.resources.get(document_id, **given)
