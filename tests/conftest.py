"""Fixtures that every test may ask for: fresh databases of both kinds."""

import functools
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import psycopg
import pytest
from coverage import Coverage

from phronesis.models.reader.token_encoder import TokenEncoder
from phronesis.store.database import connect
from phronesis.store.migrations import upgrade
from postgres_databases import Databases
from postgres_server import join

# `make test` judges a change, so it draws the same examples every time; `make check` looks for new ones.
# On a machine with other work every draw is slow: that says nothing of a test.
SLOW = [hypothesis.HealthCheck.too_slow, hypothesis.HealthCheck.data_too_large]  # a block of claims is large
hypothesis.settings.register_profile(
    "same", derandomize=True, max_examples=50, deadline=None, suppress_health_check=SLOW
)
hypothesis.settings.register_profile("quick", max_examples=8, deadline=None, suppress_health_check=SLOW)
COUNTED = ("tests/laws/", "tests/unit/", "tests/contract/", "tests/interfaces/")  # the folders that coverage counts
LONG = ("tests/unit/benchmarks/",)  # but for these: they measure whole runs
CASES = 4  # of a test that coverage counts
PROCESS_MEMORY = 2 << 30  # bytes of the machine for each process of tests
EXTENSIONS = ("vector",)  # those that only a superuser may create


def prepare_template(admin_dsn: str, owner_dsn: str) -> None:
    """Fill the template once per test process; every `postgres_dsn` is a copy of it.

    `owner_dsn` is the role that migrations run as in production; the superuser does only what it may not.
    """
    with psycopg.connect(admin_dsn) as connection:
        for extension in EXTENSIONS:
            connection.execute(psycopg.sql.SQL("CREATE EXTENSION {}").format(psycopg.sql.Identifier(extension)))
    migrate(owner_dsn)


def migrate(url: str) -> None:
    """Prepare the database and leave nobody connected: a template with a guest cannot be copied."""
    database = connect(url)
    upgrade(database)
    database.close()


def pytest_configure() -> None:
    """Leave the counting of lines in a worker of xdist to the one that pytest-cov begins after this.

    Two others run there by then: Coverage counts in every Python process that a test run starts, and pytest-cov begins
    once before it knows that it is a worker. Nobody reads what they count, but they went on whenever pytest-cov paused,
    so what is marked `no_cover` was slowed down all the same, three times and more.
    """
    os.environ["PHRONESIS_DAEMON"] = "off"  # the tests of the daemon turn it on: another one would outlive the run
    if "PYTEST_XDIST_WORKER" in os.environ:
        while begun := Coverage.current():
            begun.stop()


@pytest.hookimpl(optionalhook=True)  # where pytest-xdist is installed
def pytest_xdist_auto_num_workers() -> int:
    """Start one process more than there are cores: tests wait for servers and processes a quarter of the time.

    Each takes up to 1.5 GB at the end; where memory is short there is one for each core.
    """
    cores = os.cpu_count() or 1
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return cores + (memory >= (cores + 1) * PROCESS_MEMORY)


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what asks for a PostgreSQL fixture, and what is not counted, so that nobody has to remember to."""
    cases: Counter[str] = Counter()
    for item in items:
        if "postgres_databases" in getattr(item, "fixturenames", ()):
            item.add_marker("postgres")
        test = item.nodeid.partition("[")[0]
        cases[test] += 1
        if not _counted(item, cases[test]):
            item.add_marker("no_cover")


def _counted(item: pytest.Item, case: int) -> bool:
    """Whether coverage counts a test; to count doubles a test's time, to count examples makes it four times as long.

    What repeats the lines of other tests is left out: all but the first cases of a test, the second database, the slow,
    drawn examples, and the folders whose tests go through the whole. `core`, whose every branch is wanted, is counted
    in its own folder but for drawn examples. The floors are those of the rest, so more is covered than the report says.
    """
    drawn = hasattr(getattr(item, "obj", None), "hypothesis")
    if item.nodeid.startswith("tests/unit/core/"):
        return not drawn
    given: Mapping[str, object] = getattr(getattr(item, "callspec", None), "params", {})
    twin = given.get("database_url") == "postgres"
    slow = item.get_closest_marker("slow")
    counted = item.nodeid.startswith(COUNTED) and not item.nodeid.startswith(LONG)
    return counted and case <= CASES and not (twin or drawn or slow)


@pytest.fixture(autouse=True)
def _processes_are_counted_with_their_test(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the processes that a test starts be counted only where it is counted itself."""
    if request.node.get_closest_marker("no_cover"):
        monkeypatch.delenv("COVERAGE_PROCESS_CONFIG", raising=False)


@pytest.fixture(scope="session", autouse=True)
def _texts_are_encoded_once() -> Iterator[None]:
    """Keep what the reader's encoder makes of a text: it takes 30 ms, and many tests say the same sentences."""
    encode = TokenEncoder.__call__

    @functools.lru_cache(maxsize=2000)
    def states_of(encoder: TokenEncoder, ids: tuple[int, ...]) -> Any:
        states = encode(encoder, ids)
        states.setflags(write=False)
        return states

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TokenEncoder, "__call__", lambda encoder, ids: states_of(encoder, tuple(ids)))
        yield


@pytest.fixture(scope="session")
def postgres_databases(tmp_path_factory: pytest.TempPathFactory) -> Databases:
    """Return the server's databases; starts the server of this run, or uses the one of PHRONESIS_TEST_DSN."""
    given = os.environ.get("PHRONESIS_TEST_DSN")
    if given:
        return Databases(given)
    own = tmp_path_factory.getbasetemp()
    shared = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "postgres"
    shared.mkdir(exist_ok=True)
    return Databases(join(shared))


@pytest.fixture(scope="session")
def postgres_template(postgres_databases: Databases) -> Iterator[str]:
    """Return the name of the prepared database that the tests' databases are copied from."""
    name = postgres_databases.create()
    prepare_template(postgres_databases.admin_dsn(name), postgres_databases.dsn(name))
    yield name
    postgres_databases.drop(name)


@pytest.fixture
def postgres_dsn(postgres_databases: Databases, postgres_template: str) -> Iterator[str]:
    """Return the DSN of a fresh PostgreSQL database, as its owner: no superuser, but with CREATEROLE."""
    name = postgres_databases.create(postgres_template)
    yield postgres_databases.dsn(name)
    postgres_databases.drop(name)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """Return the URL of an SQLite file that does not exist yet."""
    return f"sqlite:///{tmp_path / 'memory.db'}"


@pytest.fixture(scope="session")
def sqlite_template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a prepared SQLite file; a copy takes a millisecond, migrating seventy."""
    path = tmp_path_factory.mktemp("template") / "memory.db"
    migrate(f"sqlite:///{path}")
    return path


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test on PostgreSQL as well where it says that statements or locks of its own differ there."""
    if "database_url" in metafunc.fixturenames:
        both = metafunc.definition.get_closest_marker("both_databases")
        twin = [pytest.param("postgres", marks=pytest.mark.postgres)] if both else []
        metafunc.parametrize("database_url", ["sqlite", *twin], indirect=True)


@pytest.fixture
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return the URL of a database that is prepared and holds nothing: SQLite, or what `both_databases` asks for."""
    if request.param == "postgres":
        dsn: str = request.getfixturevalue("postgres_dsn")
        return dsn
    path = tmp_path / "memory.db"
    shutil.copyfile(request.getfixturevalue("sqlite_template"), path)
    return f"sqlite:///{path}"
