"""``phronesis chat``: a conversation on the terminal, over any configured model or none."""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from phronesis.core.context import ContextPackage
from phronesis.core.items import Item
from phronesis.errors import InputError, PhronesisError
from phronesis.interfaces.cli import render
from phronesis.interfaces.cli.options import Options, Store, complete_id, with_scope_of_context, with_store
from phronesis.interfaces.cli.output import clean, on_one_line, print_lines, show_waiting

if TYPE_CHECKING:
    from phronesis.memory import Memory


ROLE: Final = "chat"
MAX_FOUND: Final = 5
"""Messages that ``/forget`` shows for a text, and other memories besides."""

HELP: Final = (
    "/why             what the last context stood on, with the words it was said in",
    "/context         the last context, as it is sent",
    "/forget TEXT     finds memories, and archives those that you name; or /forget ID",
    "/undo            takes back the last turn, or what was forgotten last",
    "/quit            ends; so does the end of the input",
)
_COMMAND: Final = re.compile(r"/(\w+)(?:\s+(.*))?", re.DOTALL)
_ID: Final = re.compile(r"(?:mem:)?[0-9a-f-]{8,36}")
_NUMBERS: Final = re.compile(r"\d{1,3}(?:[\s,]+\d{1,3})*")


class Conversation:
    """One session at the terminal. It keeps what ``/why`` tells of and ``/undo`` takes back."""

    def __init__(self, memory: "Memory", scope: Options, *, show: bool, as_json: bool) -> None:
        self._memory = memory
        self._named = dict(scope)
        started = memory.admin.components.clock().strftime("%Y%m%d-%H%M%S")
        self._session: str = self._named.pop("session_id", f"chat-{started}")
        self._show = show
        self._as_json = as_json
        self._model = memory.admin.components.model_registry.asker(ROLE)
        self._last: ContextPackage | None = None
        self._done: list[tuple[str, Sequence[str]]] = []
        if sys.stdin.isatty():
            click.echo(f"session {on_one_line(self._session)}; /help lists commands", err=True)
        if self._model is None:
            click.echo("no model has the role chat: what would be sent to one is shown", err=True)

    def take(self, line: str, following: Iterator[str]) -> bool:
        """Do what a line says; a command may ask for a ``following`` one. False: the conversation ends."""
        found = _COMMAND.fullmatch(line)
        name = None if found is None else found[1].lower()
        if name in ("quit", "exit"):
            return False
        commands = {"why": self._show_sources, "context": self._show_context, "undo": self._undo}
        try:
            if found is None or name is None:
                self._answer(line)
            elif name == "forget":
                self._forget((found[2] or "").strip(), following)
            elif name == "help":
                print_lines(*HELP)
            elif name in commands:
                commands[name]()
            else:
                click.echo(f"there is no /{name}; /help lists what there is", err=True)
        except PhronesisError as error:
            click.echo(on_one_line(f"phronesis: {error.message} [{error.code}]"), err=True)
        return True

    def _answer(self, text: str) -> None:
        with show_waiting("composing"):
            package = self._last = self._memory.compose_context(self._session, text, **self._named)
        if not self._as_json and (self._show or self._model is None):
            render.print_context(package, form="text")
        messages = [{"role": "user", "content": text}]
        answer = self._ask_model(package)
        if answer is not None and self._model is not None:
            messages.append({"role": "assistant", "content": answer, "model": self._model.name})
            if not self._as_json:
                print_lines(clean(answer))
        with show_waiting("remembering"):
            done = self._memory.commit_turn(
                self._session, {"messages": messages}, **self._named, context_id=package.context_id
            )
        self._done.append(("turn", [done.entry_id]))
        render.print_degraded(done.degraded)
        if self._as_json:
            line: dict[str, Any] = {"answer": answer, "context_id": package.context_id, "entry_id": done.entry_id}
            line |= {"citations": _citations(package), "aliases": dict(package.citations)}
            print_lines(json.dumps(line | {"context": package.render("messages")}, ensure_ascii=False))

    def _ask_model(self, package: ContextPackage) -> str | None:
        """Return the model's answer; None, and why on stderr, when there is none."""
        from phronesis.errors import ModelError  # noqa: PLC0415
        from phronesis.models.structured_client import Message  # noqa: PLC0415 - numpy and all: not for --help

        if self._model is None:
            return None
        messages = [Message(one["role"], one["content"]) for one in package.render("messages")]
        try:
            with show_waiting(f"{self._model.name} answers"):
                return self._model.chat_completion(self._memory.admin.tenant, messages)
        except ModelError as error:
            click.echo(f"chat: {self._model.name} gave no answer ({error.code})", err=True)
            return None

    def _show_sources(self) -> None:
        """Show what the last context cited, each with its sources' own words."""
        package = self._last
        if package is None:
            click.echo("nothing was asked yet", err=True)
            return
        cited = _citations(package)
        if not cited:
            print_lines("the last context cites no memory")
        aliases = {citation: f"[{alias}] " for alias, citation in package.citations.items()}
        for citation in cited:
            found = self._memory.explain(citation)
            print_lines(
                f"{aliases.get(citation, '')}{on_one_line(found.item.content)}", f"   {render.about(found.item)}"
            )
            print_lines(*(line for source in found.sources for line in render.source_lines(source)))

    def _show_context(self) -> None:
        if self._last is None:
            click.echo("nothing was asked yet", err=True)
        else:
            render.print_context(self._last, form="text")

    def _forget(self, rest: str, following: Iterator[str]) -> None:
        """Find, show, ask, archive."""
        if not rest:
            raise InputError("forget what? give words to find it by, or its id", field="forget")
        if _ID.fullmatch(rest):
            found = [self._memory.get(complete_id(self._memory, rest))]
        else:  # a message that a fact was taken from is as much to be forgotten
            said = self._memory.search(rest, limit=MAX_FOUND, kinds=["message"], **self._named)
            held = self._memory.search(rest, limit=MAX_FOUND, **self._named)
            found = list({one.item.id: one.item for one in (*said, *held)}.values())
        if not found:
            print_lines("nothing like it is remembered")
            return
        for n, item in enumerate(found, start=1):
            print_lines(f"{n}. {on_one_line(item.content)}", f"   {render.about(item)}")
        print_lines("forget which? numbers, all, or anything else for none")
        entries = [
            self._memory.delete(item.id, reason="forgotten in the chat", actor="user").entry_id
            for item in _choose_items(next(following, ""), found)
        ]
        if entries:
            self._done.append(("forget", entries))
        print_lines(f"forgotten: {len(entries)}; /undo takes it back" if entries else "nothing was forgotten")

    def _undo(self) -> None:
        if not self._done:
            print_lines("there is nothing to take back")
            return
        what, entries = self._done[-1]
        for entry_id in reversed(entries):
            self._memory.rollback(entry_id, actor="user")
        self._done.pop()
        print_lines(
            "the last turn is not remembered any more" if what == "turn" else "what was forgotten is remembered again"
        )


def _citations(package: ContextPackage) -> list[str]:
    """Return the memories that a context cites, in its order, each once."""
    blocks = [*package.system_blocks, *package.working_summary]
    cited = [citation for block in blocks for citation in block.citations if citation.startswith("mem:")]
    return list(dict.fromkeys([*cited, *(evidence.item.citation for evidence in package.evidence)]))


def _choose_items(answer: str, found: Sequence[Item]) -> list[Any]:
    """Return the items that an answer names: by number, or all of them (yes, where there is one)."""
    word = answer.strip().lower()
    if word in ("all", "全部") or (word in ("y", "yes", "是") and len(found) == 1):
        return list(found)
    if not _NUMBERS.fullmatch(word):
        return []
    numbers = dict.fromkeys(int(one) for one in re.findall(r"\d+", word))
    return [found[n - 1] for n in numbers if 1 <= n <= len(found)]


@click.command()
@with_scope_of_context
@click.option("--show", is_flag=True, help="Print each composed context before its answer.")
@with_store
def chat(*, store: Store, scope: Options, show: bool) -> None:
    """Chat with a model that remembers.

    Each line is a message: its context is composed, the model of the role chat answers, and both are remembered.
    Without a model the context is printed instead. /help lists the commands; the end of input, Ctrl-C or /quit ends
    it. In a pipe only the answers are printed; with --json each is one line of JSON.
    """
    with store.open() as memory:
        talk = Conversation(memory, scope, show=show, as_json=store.as_json)
        lines = _lines()
        for line in lines:
            try:
                if not talk.take(line, lines):
                    break
            except KeyboardInterrupt:
                click.echo("interrupted", err=True)
        memory.flush()


def _lines() -> Iterator[str]:
    """Return the input line by line, with a prompt on a terminal; it ends with the input, or with Ctrl-C."""
    asked = sys.stdin.isatty()
    while True:
        if asked:
            click.echo("> ", nl=False, err=True)
        try:
            line = sys.stdin.readline()
        except KeyboardInterrupt:
            line = ""
        if not line:
            if asked:
                click.echo(err=True)
            return
        if line.strip():
            yield line.strip()
