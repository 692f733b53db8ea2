"""Each adapter in an environment with its framework: what the framework itself asks of it."""

import pytest

from conformance.environments import BANNED, REQUIREMENTS, installed, run_tests

LEAST = {"langgraph": 10, "openai_agents": 17, "anthropic": 9, "langchain": 11, "mem0": 40}
"""Tests that must have passed: a run that collects nothing proves nothing."""


@pytest.mark.slow
@pytest.mark.parametrize("name", REQUIREMENTS)
def test_the_framework_is_content(name: str) -> None:
    passed, said = run_tests(name)
    assert passed >= LEAST[name], said
    assert "skipped" not in said, said


@pytest.mark.slow
@pytest.mark.parametrize("name", REQUIREMENTS)
def test_nothing_that_is_banned_is_installed(name: str) -> None:
    found = installed(name)
    assert found
    assert not found & BANNED
