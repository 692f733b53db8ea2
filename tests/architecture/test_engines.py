"""An engine is new files: the spine knows no kind, verb or module of any engine.

(The verb ``verdict`` is not looked for: the interpreter has a verdict of its own, on entries that failed.)
"""

import ast
import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "phronesis"
SPINE = tuple(
    """
    core/changes.py core/relations.py engine/background.py engine/doctor.py engine/edits.py
    engine/erasure.py engine/erasure_plan.py engine/handler.py engine/plugin.py
    engine/entry_applier.py engine/interpreter.py engine/replay.py engine/writer.py engine/rollback.py
    store/lane_view.py store/lane_state.py index/projections.py wiring/__init__.py
""".split()
)
ENGINES = re.compile(
    r"reasoning|claim|trait|reflect|l1|l2|l3|pattern|principle|experience|aggregat|abstraction", re.IGNORECASE
)


def words(source: str) -> set[str]:
    """Every name and every string of a module, its docstrings left out."""
    tree = ast.parse(source)
    prose = {
        node.value for node in ast.walk(tree) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Constant(value=str(text)) if node not in prose:
                found.add(text)
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name) | ast.alias(name=name):
                found.add(name)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                found.add(name)
            case ast.ImportFrom(module=str(name)):
                found.add(name)
    return found


def test_the_spine_knows_no_engine() -> None:
    for path in SPINE:
        known = {word for word in words((PACKAGE / path).read_text("utf-8")) if ENGINES.search(word)}
        assert known == set(), path
