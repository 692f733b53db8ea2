"""The import graph has no cycle, and pure modules import nothing but pure modules."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"


def is_pure(module: str) -> bool:
    """Whether a module belongs to `core` or to the laws of an engine or of ranking."""
    return (
        module.startswith(("phronesis.core", "phronesis.recall.scoring"))
        or ".laws" in module
        or module in {"phronesis.recall.fusion", "phronesis.errors", "phronesis"}
    )


def module_name(path: Path) -> str:
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SRC.rglob("*.py"))}


def imported_modules(source: str, modules: Mapping[str, object]) -> Iterator[str]:
    """Yield the modules that a source imports at its top level; lazy and type-checking imports do not count."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.ImportFrom) and node.module:
            for name in node.names:
                inner = f"{node.module}.{name.name}"
                yield inner if inner in modules else node.module
        elif isinstance(node, ast.Import):
            yield from (name.name for name in node.names)


def import_graph() -> dict[str, set[str]]:
    graph: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        imported = imported_modules(path.read_text("utf-8"), MODULES)
        graph[module] = {name for name in imported if name in MODULES and name != module}
    return graph


def find_cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return one cycle of the graph, or an empty list."""
    done: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str]:
        if module in path:
            return [*path[path.index(module) :], module]
        if module in done:
            return []
        for name in sorted(graph.get(module, ())):
            if cycle := visit(name, [*path, module]):
                return cycle
        done.add(module)
        return []

    for module in sorted(graph):
        if cycle := visit(module, []):
            return cycle
    return []


def test_imports_have_no_cycle() -> None:
    assert find_cycle(import_graph()) == []


@pytest.mark.slow
def test_pure_modules_import_pure_modules() -> None:
    graph = import_graph()
    assert [(module, name) for module in graph if is_pure(module) for name in graph[module] if not is_pure(name)] == []


def test_no_folder_has_two_modules_of_one_name() -> None:
    """Within an engine a module's name says what is inside without its folder."""
    seen: dict[tuple[str, str], str] = {}
    twice: list[tuple[str, str]] = []
    for module in MODULES:
        parts = module.split(".")
        if len(parts) > 2 and parts[1] in {"conversation", "reasoning", "experience", "traits", "resources"}:
            other = seen.setdefault((parts[1], parts[-1]), module)
            if other != module:
                twice.append((other, module))
    assert twice == []
