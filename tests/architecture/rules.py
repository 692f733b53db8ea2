"""The house rules that no linter knows. Each takes a module and yields what is wrong with it.

A rule judges one `Module` and nothing else.
"""

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

MAX_MODULE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_PARAMETERS = 8

ENVIRONMENT_ALLOWED = frozenset({"config/settings.py", "config/locations.py", "interfaces/cli/__init__.py"})
ENVIRONMENT = ("os.environ", "os.environb", "os.getenv", "os.getenvb", "os.putenv", "os.unsetenv")
CLOCKS_AND_CHANCE = (
    *("time", "random", "secrets", "os.urandom", "numpy.random", "phronesis.uuid7"),
    *("datetime.datetime.now", "datetime.datetime.utcnow", "datetime.datetime.today", "datetime.date.today"),
    *("uuid.uuid1", "uuid.uuid4", "uuid.uuid6", "uuid.uuid7"),
)
REPLAYED = frozenset({"core", "engine", "conversation", "reasoning", "experience", "traits", "resources", "forgetting"})
"""The areas that prepare and apply entries."""
ASKING_OUTSIDE = ("reasoning/catalysis/", "reasoning/external_search.py", "resources/fetcher.py")
"""Readers of a public source, an outside index and pages: their answers are recorded as outcomes, or only read."""
DATABASES = ("sqlalchemy", "psycopg", "sqlite3", "pgvector")

_SQL = re.compile(
    r"\s*(SELECT\s.*\sFROM\s|INSERT\s+(OR\s+\w+\s+)?INTO\s|UPDATE\s+\S+\s+SET\s|DELETE\s+FROM\s|WITH\s+(RECURSIVE\s+)?\w+\s+AS\s"
    r"|(CREATE|DROP|ALTER)\s+(UNIQUE\s+)?(VIRTUAL\s+)?(TABLE|INDEX|SCHEMA|ROLE|POLICY|EXTENSION|VIEW)\s|PRAGMA\s+\w)",
    re.DOTALL,
)
_VAGUE_NAME = re.compile(r"^_*(utils?|helpers?)$|_(utils?|helpers?)$|^_*(utils?|helpers?)_|Manager|^_*Base[A-Z]")
_UNSEARCHABLE = frozenset(
    """
    told said given shown kept held once one how aside standing saying telling keeping
    asked wanted found drawn seen looked taken beside alone behind met heard borne withheld parted sifted wishes thrown
    apart fits worth fade came_to brought_back moved_on taken_back taking_up going_with near_to lets_through
    """.split()
)
"""Names of modules, classes and functions that nobody would search for: a module or class is a noun of its field, a
function a verb and its object.
"""

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Module:
    """A source file: its path relative to the package, as in "core/ids.py", and its text."""

    path: str
    source: str

    @cached_property
    def tree(self) -> ast.Module:
        """Return the parsed source."""
        return ast.parse(self.source, self.path)

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """Return every node of the tree."""
        return list(ast.walk(self.tree))

    @cached_property
    def functions(self) -> list[tuple[str, "Function", bool]]:
        """Return (qualified name, function, whether it takes `self` or `cls`)."""
        return list(_functions(self.tree, ""))

    @cached_property
    def used(self) -> list[tuple[int, str]]:
        """Return the line and the dotted name of each import and of each attribute of what is imported."""
        return sorted(_used(self.nodes))

    @property
    def area(self) -> str:
        """Return the folder or module right below the package: "core", "wiring"."""
        return PurePosixPath(self.path).parts[0].removesuffix(".py")


Rule = Callable[[Module], Iterator[str]]


def module_is_short(module: Module) -> Iterator[str]:
    """A module that needs scrolling through does more than one thing."""
    lines = len(module.source.splitlines())
    if lines > MAX_MODULE_LINES:
        yield f"{module.path}: {lines} lines, at most {MAX_MODULE_LINES}"


def functions_are_short(module: Module) -> Iterator[str]:
    """Count from `def` to the last line, docstring included."""
    for name, function, _ in module.functions:
        lines = (function.end_lineno or function.lineno) - function.lineno + 1
        if lines > MAX_FUNCTION_LINES:
            yield f"{module.path}:{function.lineno} {name}: {lines} lines, at most {MAX_FUNCTION_LINES}"


def functions_take_few_parameters(module: Module) -> Iterator[str]:
    """The verbs of Memory are excepted: their parameters are the public contract. So are mem0's, which are mem0's."""
    if module.path == "async_memory.py":
        return
    for name, function, is_method in module.functions:
        if (
            module.path.startswith(("memory/", "adapters/mem0.py"))
            and "." in name
            and not name.rpartition(".")[2].startswith("_")
        ):
            continue
        arguments = function.args
        named = len(arguments.posonlyargs) + len(arguments.args) + len(arguments.kwonlyargs)
        count = named + bool(arguments.vararg) + bool(arguments.kwarg) - is_method
        if count > MAX_PARAMETERS:
            yield f"{module.path}:{function.lineno} {name}: {count} parameters, at most {MAX_PARAMETERS}"


def environment_is_read_by_config(module: Module) -> Iterator[str]:
    """Settings have one door; what a variable does can then be listed."""
    if module.path not in ENVIRONMENT_ALLOWED:
        yield from _uses(module, ENVIRONMENT, "only config/settings.py and config/locations.py read the environment")


def laws_have_no_clock_and_no_chance(module: Module) -> Iterator[str]:
    """Replaying must give the same state: times and ids come in with the entry."""
    if module.area in REPLAYED and not module.path.startswith(ASKING_OUTSIDE):
        yield from _uses(module, CLOCKS_AND_CHANCE, "neither clock nor chance where entries are prepared and applied")


def databases_are_behind_store(module: Module) -> Iterator[str]:
    """Everything else asks `store` for what it needs by name."""
    if module.area == "store":
        return
    yield from _uses(module, DATABASES, "only store talks to a database")
    for line, text in _strings(module.nodes):
        if _SQL.match(text):
            yield f"{module.path}:{line} SQL outside store: {text.strip()[:40]!r}"


def names_say_what_things_do(module: Module) -> Iterator[str]:
    """A name that fits anything attracts everything."""
    for part in PurePosixPath(module.path).with_suffix("").parts:
        if _VAGUE_NAME.search(part) or _is_unsearchable(part):
            yield f"{module.path}: the name {part!r} says nothing"
    for node in module.nodes:
        if isinstance(node, Function | ast.ClassDef) and _VAGUE_NAME.search(node.name):
            yield f"{module.path}:{node.lineno} the name {node.name!r} says nothing"
    methods = [one for node in module.tree.body if isinstance(node, ast.ClassDef) for one in node.body]
    for node in (*module.tree.body, *methods):
        private = isinstance(node, Function) and node.name.startswith("_")
        if isinstance(node, Function | ast.ClassDef) and not private and _is_unsearchable(node.name):
            yield f"{module.path}:{node.lineno} nobody would search for {node.name!r}"


def _is_unsearchable(name: str) -> bool:
    return name.strip("_").lower() in _UNSEARCHABLE


def packages_say_what_belongs_there(module: Module) -> Iterator[str]:
    """A package's docstring is the first thing that a newcomer reads of it."""
    if PurePosixPath(module.path).name == "__init__.py" and not ast.get_docstring(module.tree):
        yield f"{module.path}: no docstring"


RULES: tuple[Rule, ...] = (
    module_is_short,
    functions_are_short,
    functions_take_few_parameters,
    environment_is_read_by_config,
    laws_have_no_clock_and_no_chance,
    databases_are_behind_store,
    names_say_what_things_do,
    packages_say_what_belongs_there,
)


def _uses(module: Module, forbidden: tuple[str, ...], reason: str) -> Iterator[str]:
    """Yield each import and each name of `module` that is, or is below, a forbidden dotted name."""
    for line, used in module.used:
        if any(used == name or used.startswith(f"{name}.") for name in forbidden):
            yield f"{module.path}:{line} {used}: {reason}"


def _used(nodes: list[ast.AST]) -> set[tuple[int, str]]:
    aliases: dict[str, str] = {}
    found: set[tuple[int, str]] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            for name in node.names:
                first = name.name.partition(".")[0]
                aliases[name.asname or first] = name.name if name.asname else first
                found.add((node.lineno, name.name))
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for name in node.names:
                aliases[name.asname or name.name] = f"{node.module}.{name.name}"
                found.add((node.lineno, f"{node.module}.{name.name}"))
    for node in nodes:
        if isinstance(node, ast.Attribute):
            first, dot, rest = _dotted(node).partition(".")
            if first in aliases:
                found.add((node.lineno, aliases[first] + dot + rest))
    return found


def _functions(node: ast.AST, scope: str) -> Iterator[tuple[str, Function, bool]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function | ast.ClassDef):
            name = f"{scope}.{child.name}" if scope else child.name
            if isinstance(child, Function):
                static = any(_dotted(decorator) == "staticmethod" for decorator in child.decorator_list)
                yield name, child, isinstance(node, ast.ClassDef) and not static
            yield from _functions(child, name)
        elif isinstance(child, ast.stmt):
            yield from _functions(child, scope)


def _strings(nodes: list[ast.AST]) -> Iterator[tuple[int, str]]:
    """Yield the string constants and f-strings that are not docstrings; a placeholder reads as "x"."""
    inside: set[ast.AST] = set()
    for node in nodes:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            inside.add(node.value)
        elif isinstance(node, ast.JoinedStr):
            inside.update(node.values)
            parts = [part.value if isinstance(part, ast.Constant) else "x" for part in node.values]
            yield node.lineno, "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in inside:
            yield node.lineno, node.value


def _dotted(node: ast.expr) -> str:
    """Return "a.b.c" of a chain of attributes, and "" of anything else."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = _dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""
