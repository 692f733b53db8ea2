"""What a process keeps is made anew for each test: whoever came first may be one that coverage does not count."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _nothing_is_kept_from_tests_that_are_not_counted(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("no_cover"):
        return
    for name, module in sys.modules.items():
        if name.startswith("phronesis.core."):
            for held in vars(module).values():
                if hasattr(held, "cache_clear"):
                    held.cache_clear()
