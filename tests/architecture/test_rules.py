"""Each house rule finds what it forbids, and leaves alone what it does not."""

import inspect

import pytest

from architecture import rules
from architecture.rules import Module, Rule

LONG_BODY = "\n".join(["    pass"] * 60)
NINE = "a, b, c, d, e, f, *, g, h, i"

BAD: list[tuple[Rule, str, str]] = [
    (rules.module_is_short, "core/a.py", "x = 1\n" * 401),
    (rules.functions_are_short, "core/a.py", f"def f():\n{LONG_BODY}\n"),
    (rules.functions_are_short, "core/a.py", "class A:\n    async def f(self):\n" + "        pass\n" * 60),
    (rules.functions_take_few_parameters, "core/a.py", f"def f({NINE}): ..."),
    (rules.functions_take_few_parameters, "core/a.py", "def f(a, b, c, d, e, f, g, *rest, **more): ..."),
    (rules.functions_take_few_parameters, "core/a.py", f"class A:\n    @staticmethod\n    def f({NINE}): ..."),
    (rules.functions_take_few_parameters, "memory/writing.py", f"def f({NINE}): ..."),
    (rules.functions_take_few_parameters, "memory/writing.py", f"class Writing:\n    def _f(self, {NINE}): ..."),
    (rules.environment_is_read_by_config, "wiring.py", "import os\nx = os.environ['A']"),
    (rules.environment_is_read_by_config, "wiring.py", "import os as o\nx = o.getenv('A')"),
    (rules.environment_is_read_by_config, "store/config.py", "from os import environ"),
    (rules.laws_have_no_clock_and_no_chance, "core/a.py", "import time"),
    (rules.laws_have_no_clock_and_no_chance, "core/a.py", "def f():\n    from time import monotonic"),
    (rules.laws_have_no_clock_and_no_chance, "engine/a.py", "import datetime as dt\ndt.datetime.now()"),
    (rules.laws_have_no_clock_and_no_chance, "engine/a.py", "from datetime import datetime\nf = datetime.utcnow"),
    (rules.laws_have_no_clock_and_no_chance, "engine/a.py", "from datetime import date\ndate.today()"),
    (rules.laws_have_no_clock_and_no_chance, "core/a.py", "from uuid import uuid4"),
    (rules.laws_have_no_clock_and_no_chance, "core/a.py", "import uuid\nuuid.uuid4()"),
    (rules.laws_have_no_clock_and_no_chance, "core/a.py", "import numpy as np\nnp.random.default_rng(1)"),
    (rules.laws_have_no_clock_and_no_chance, "core/a.py", "from random import choice"),
    (rules.laws_have_no_clock_and_no_chance, "core/a.py", "import secrets"),
    (rules.databases_are_behind_store, "recall/a.py", "import sqlalchemy as sa"),
    (rules.databases_are_behind_store, "recall/a.py", "def f():\n    from sqlalchemy.dialects import sqlite"),
    (rules.databases_are_behind_store, "wiring.py", "import sqlite3"),
    (rules.databases_are_behind_store, "recall/a.py", "q = 'SELECT id FROM item WHERE tenant_id = :t'"),
    (rules.databases_are_behind_store, "recall/a.py", "q = f'DELETE FROM {table} WHERE 1'"),
    (rules.databases_are_behind_store, "recall/a.py", "q = '''\n  INSERT INTO item\n  VALUES (1)'''"),
    (rules.databases_are_behind_store, "recall/a.py", "q = 'PRAGMA secure_delete'"),
    (rules.exceptions_are_named, "worker.py", "try:\n    f()\nexcept Exception:\n    pass"),
    (rules.exceptions_are_named, "worker.py", "try:\n    f()\nexcept (KeyError, Exception) as e:\n    pass"),
    (rules.exceptions_are_named, "worker.py", "try:\n    f()\nexcept:\n    pass"),
    (rules.exceptions_are_named, "worker.py", "try:\n    f()\nexcept builtins.BaseException:\n    pass"),
    (rules.exceptions_are_named, "worker.py", "with contextlib.suppress(Exception):\n    f()"),
    (rules.names_say_what_things_do, "core/utils.py", ""),
    (rules.names_say_what_things_do, "core/text_helpers.py", ""),
    (rules.names_say_what_things_do, "core/saying.py", ""),
    (rules.packages_say_what_belongs_there, "core/__init__.py", "x = 1"),
    (rules.names_say_what_things_do, "helpers/a.py", ""),
    (rules.names_say_what_things_do, "core/a.py", "class LaneManager: ..."),
    (rules.names_say_what_things_do, "core/a.py", "class Told: ..."),
    (rules.names_say_what_things_do, "core/a.py", "class _Kept: ..."),
    (rules.names_say_what_things_do, "core/a.py", "def said(text): ..."),
    (rules.names_say_what_things_do, "core/a.py", "class _BaseStore: ..."),
    (rules.names_say_what_things_do, "core/a.py", "def parse_helper(): ..."),
    (rules.nothing_is_left_for_later, "core/a.py", "x = 1  # TODO: more"),
    (rules.nothing_is_left_for_later, "core/a.py", "# FIXME\n"),
]

GOOD: list[tuple[Rule, str, str]] = [
    (rules.module_is_short, "core/a.py", "x = 1\n" * 400),
    (rules.functions_are_short, "core/a.py", f"def f():\n{LONG_BODY[:-9]}\n"),
    (rules.functions_take_few_parameters, "core/a.py", "class A:\n    def f(self, a, b, c, d, e, f, g, h): ..."),
    (rules.functions_take_few_parameters, "memory/writing.py", f"class Memory:\n    def add(self, {NINE}): ..."),
    (rules.functions_take_few_parameters, "async_memory.py", f"class AsyncMemory:\n    async def f(self, {NINE}): ..."),
    (rules.environment_is_read_by_config, "config/settings.py", "import os\nx = os.environ['A']"),
    (rules.environment_is_read_by_config, "wiring.py", "import os\nx = os.path.join('a')"),
    (rules.laws_have_no_clock_and_no_chance, "worker.py", "import time"),
    (rules.laws_have_no_clock_and_no_chance, "core/a.py", "from phronesis.core import time\ntime.parse('x')"),
    (rules.laws_have_no_clock_and_no_chance, "core/a.py", "from datetime import datetime\ndatetime.fromisoformat('x')"),
    (rules.laws_have_no_clock_and_no_chance, "core/a.py", "import uuid\nuuid.uuid5(uuid.NAMESPACE_URL, 'x')"),
    (rules.laws_have_no_clock_and_no_chance, "core/a.py", "def f(clock, time):\n    return time.now()"),
    (rules.databases_are_behind_store, "store/a.py", "import sqlalchemy\nq = 'SELECT id FROM item '"),
    (rules.databases_are_behind_store, "wiring.py", "from phronesis.store.database import Database"),
    (rules.databases_are_behind_store, "engine/a.py", "p = 'Select the facts from the text. Update with care.'"),
    (rules.databases_are_behind_store, "engine/a.py", "def f():\n    'SELECT is not allowed FROM here'"),
    (rules.exceptions_are_named, "worker.py", "try:\n    f()\nexcept (KeyError, OSError):\n    pass"),
    (rules.exceptions_are_named, "worker.py", "try:\n    f()\nexcept BaseException:\n    undo()\n    raise"),
    (rules.names_say_what_things_do, "core/a.py", "class Baseline: ...\nclass Database: ...\ndef manage(): ..."),
    (rules.names_say_what_things_do, "core/a.py", "class Settings(BaseModel): ..."),
    (rules.names_say_what_things_do, "core/a.py", "class HeldStatement: ...\ndef found_items(): ..."),
    (rules.packages_say_what_belongs_there, "core/a.py", "x = 1"),
    (rules.nothing_is_left_for_later, "engine/a.py", "MARKERS = ('TODO', 'FIXME')  # words that name a task"),
]


def test_each_rule_finds_what_breaks_it() -> None:
    assert [(rule.__name__, source) for rule, path, source in BAD if not list(rule(Module(path, source)))] == []


def test_each_rule_leaves_alone_what_keeps_it() -> None:
    assert [(rule.__name__, source) for rule, path, source in GOOD if list(rule(Module(path, source)))] == []


def test_broad_except_is_allowed_where_the_list_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "BROAD_EXCEPT_ALLOWED", frozenset({"worker.py::Worker.run"}))
    body = "        try:\n            f()\n        except Exception:\n            pass\n"
    source = f"class Worker:\n    def run(self):\n{body}    def other(self):\n{body}"
    assert list(rules.exceptions_are_named(Module("worker.py", source))) == [
        "worker.py:10 broad except in Worker.other"
    ]


def test_every_rule_is_in_force_and_proven_to_fail() -> None:
    public = {
        value
        for name, value in vars(rules).items()
        if inspect.isfunction(value) and value.__module__ == rules.__name__ and not name.startswith("_")
    }
    assert public == set(rules.RULES) == {rule for rule, _, _ in BAD} == {rule for rule, _, _ in GOOD}
