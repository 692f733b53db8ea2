"""Commands of resources: ingest, list and show documents."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from phronesis.core.ids import short_id
from phronesis.core.items import Item
from phronesis.interfaces.cli.options import AS_OF, CURSOR, LIMIT, Options, Store, with_owner, with_store
from phronesis.interfaces.cli.output import Progress, day, on_one_line, say, say_cut, show_waiting
from phronesis.interfaces.cli.render import say_more

if TYPE_CHECKING:
    from phronesis.resources.documents import IngestedResource, Resource


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--page", metavar="URL", help="A page, if the policy allows fetching it.")
@click.option("--text", metavar="TEXT", help="A text.")
@click.option("--uri", metavar="URI", help="Its name: the same name again is a new version.")
@click.option("--title", metavar="TEXT", help="Its title; default: the one it has.")
@click.option("--type", "type_", metavar="NAME", help="Its type: manual, spec, memory_snapshot …")
@with_owner
@with_store
def add(
    *, files: Sequence[Path], page: str | None, text: str | None, scope: Options, store: Store, **about: str | None
) -> None:
    """Ingest documents: files, a page, or a text.

    Text, Markdown, reStructuredText, HTML, source code, notebooks; PDF and Office files with the extra 'documents'.
    A document that is held already becomes a new version of it, and only the sections that differ change.
    """
    named = {"url": page, "text": text}
    given: list[dict[str, Any]] = [{"path": one} for one in files]
    given += [{name: value} for name, value in named.items() if value is not None]
    if not given:
        raise click.UsageError("give a FILE, --page or --text")
    if len(given) > 1 and (about["uri"] or about["title"]):
        raise click.UsageError("--uri and --title are of one document: give one FILE, --page or --text")
    known: dict[str, Any] = {name.rstrip("_"): value for name, value in about.items() if value is not None}
    told = []
    with store.open() as memory, Progress() as progress:
        for n, one in enumerate(given, start=1):
            told.append(memory.resources.ingest(**one, **known, **scope, actor="user"))
            progress("documents", n, len(given))
        with show_waiting("making vectors"):
            memory.flush()
    store.answer(told, _print_ingested)


@click.command()
@with_owner
@LIMIT
@CURSOR
@with_store
def list_documents(*, scope: Options, limit: int, cursor: str | None, store: Store) -> None:
    """List the documents that are held, newest first.

    Each with its title, its address and the number of its sections.
    """
    with store.open() as memory:
        page = memory.get_all(**scope, kinds=["document"], limit=limit, cursor=cursor)
    store.answer(page.items, _say_documents)
    say_more(page)


@click.command()
@click.argument("document_id", metavar="ID")
@AS_OF
@with_store
def show(document_id: str, *, as_of: str | None, store: Store) -> None:
    """Show a document: its versions, and its sections in order.

    ID is that of the document; a section is shown whole with get.
    """
    store.run(lambda memory, one: memory.resources.get(one, as_of=as_of), _say_document, document_id)


def _print_ingested(told: Iterable["IngestedResource"]) -> None:
    for one in told:
        if one.document is None:
            say(f"recorded, not read yet: entry {short_id(one.entry_id)}")
            continue
        document = one.document
        say(
            f"{short_id(document.id)}  {on_one_line(document.content)} (version {one.number}):"
            f" {len(one.sections)} new sections, {one.unchanged} as they were, {len(one.superseded)} ended"
        )
        for gated in one.gated:
            say(f"   in quarantine: {on_one_line(gated.text)}")


def _say_documents(found: Iterable[Item]) -> None:
    shown = False
    for item in found:
        shown = True
        version = f"version {item.data.get('number', 1)}, {len(item.data.get('sections', ()))} sections"
        say_cut(f"{short_id(item.id)}  {on_one_line(item.content)} ({version})")
        say_cut(f"   {day(item.updated_at)} {item.source_ref}")
    if not shown:
        say("no documents there; take one in with 'phronesis resources add FILE'")


def _say_document(found: "Resource") -> None:
    say(on_one_line(found.document.content), f"   {found.document.source_ref}")
    for version in found.versions:
        say_cut(
            f"   version {version.number} of {day(version.recorded_at)}: {version.characters:,} characters,"
            f" entry {short_id(version.entry_id)}"
        )
    for item in found.sections:
        path: Sequence[str] = item.data.get("path", ())
        heading = on_one_line(path[-1]) if path else "(before the first heading)"
        say_cut(f"{'  ' * len(path)}{heading}  [{short_id(item.id)}]")
