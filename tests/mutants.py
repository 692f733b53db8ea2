"""Measure how many mutants of the laws the fast tests kill: `make mutants` or `python tests/mutants.py [PART OF A PATH]`.

A mutant is one changed operator, comparison, condition, number, boolean, return value or dropped call. Every fast test
of tests/laws and tests/unit runs once and is traced; then each mutant runs in a fork of the collected session, against
those tests only that reach its line, quickest first, until one fails. Mutants of constants run against the tests that
reach a line which names the constant. Survivors are printed, and the table of modules is written to docs/mutation.md.
"""

import gc
import itertools
import os
import pickle
import resource
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from coverage import Coverage
from _pytest.runner import runtestprotocol

from mutations import Line, Mutant, mutants_of, transplant, uses_of

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "phronesis"
LAWS = ("*/laws.py", "*/laws/*.py", "recall/scoring/*.py", "recall/fusion.py", "core/confidence.py", "core/changes.py")
FOLDERS = tuple(os.environ.get("F","tests/laws tests/unit").split())
FAST = "not slow and not postgres and not encoder"
SLOWEST = 0.5  # seconds of the slowest test that is asked
BUDGET = 10.0  # seconds of tests that a mutant is asked, at most
LIMIT = 60  # seconds of computing after which a mutant counts as killed
MEMORY = 8 << 30

class Mutation:
    """Plugin that runs the mutants in place of the tests; ``killed`` and ``survivors`` say what became of them."""

    def __init__(self, paths: list[Path], every: int) -> None:
        self.paths = paths
        self.every = every
        self.killed: Counter[str] = Counter()
        self.survivors: list[Mutant] = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self) -> None:
        """Draw the same examples each time, and do not make small what fails."""
        import hypothesis  # noqa: PLC0415 - pytest rewrites it first

        hypothesis.settings.register_profile(
            "mutants",
            derandomize=True,
            max_examples=40,
            database=None,
            deadline=None,
            phases=(hypothesis.Phase.explicit, hypothesis.Phase.generate),
            suppress_health_check=list(hypothesis.HealthCheck),
        )

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Trace the tests, then run every mutant."""
        import hypothesis  # noqa: PLC0415

        warm = hypothesis.strategies.tuples(hypothesis.strategies.text(), hypothesis.strategies.floats())
        hypothesis.given(warm)(lambda _: None)()
        _passes(session.items[0], session.items[-1])  # what the session needs is set up once, and stays for the forks
        names = list(map(str, self.paths))
        with tempfile.TemporaryFile() as report:
            if not (pid := os.fork()):
                pickle.dump(_trace(session.items, names), report)
                report.flush()
                os._exit(0)
            os.waitpid(pid, 0)
            report.seek(0)
            seconds, lines = pickle.load(report)  # noqa: S301 - this process wrote it
        print("traced", len(lines), "of", len(session.items), file=sys.stderr, flush=True)
        uses = uses_of(self.paths)
        gc.collect()
        gc.freeze()  # what is not touched need not be copied
        gc.disable()
        running: dict[int, Mutant] = {}
        mutants = (mutant for path in self.paths for mutant in mutants_of(path, _dotted(path), uses))
        for mutant in itertools.islice(mutants, 0, None, self.every):
            while len(running) >= (os.cpu_count() or 1):
                self._reap(running)
            chosen = _within_budget(mutant, lines, seconds)
            if not (pid := os.fork()):
                outcome = 1
                try:
                    outcome = _fails(mutant, [session.items[number] for number in chosen])
                finally:
                    os._exit(outcome)
            running[pid] = mutant
        while running:
            self._reap(running)
        return True

    def _reap(self, running: dict[int, Mutant]) -> None:
        pid, status = os.wait()
        mutant = running.pop(pid)
        if status:
            self.killed[mutant.module] += 1
        else:
            self.survivors.append(mutant)
            os.write(2, f"{mutant}\n".encode())


def _trace(items: list[pytest.Item], names: list[str]) -> tuple[dict[int, float], dict[int, set[Line]]]:
    """Return the seconds of each test that passes quickly, and the lines of ``names`` that it reaches."""
    seconds: dict[int, float] = {}
    lines: defaultdict[int, set[Line]] = defaultdict(set)
    counting = Coverage(data_file=None, config_file=False, include=names)
    counting.start()
    for number, item in enumerate(items):
        counting.switch_context(str(number))
        begun = time.process_time()
        passed = _passes(item, items[number + 1] if number + 1 < len(items) else None)
        taken = time.process_time() - begun
        if passed and taken < SLOWEST:
            seconds[number] = taken
    counting.stop()
    data = counting.get_data()
    for name in data.measured_files():
        for line, numbers in data.contexts_by_lineno(name).items():
            for number in map(int, filter(None, numbers)):
                if number in seconds:
                    lines[number].add((name, line))
    return seconds, dict(lines)


def _passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


def _within_budget(mutant: Mutant, lines: dict[int, set[Line]], seconds: dict[int, float]) -> Iterator[int]:
    """Yield the tests that reach the mutant, quickest first."""
    left = BUDGET
    for number in sorted(lines, key=seconds.__getitem__):
        if not mutant.lines.isdisjoint(lines[number]) and (left := left - seconds[number]) > 0:
            yield number


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def _fails(mutant: Mutant, items: list[pytest.Item]) -> int:
    """Return 1 as soon as a test fails on the mutant, else 0; endless loops end by a signal."""
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    signal.alarm(LIMIT * 10)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    try:
        transplant(mutant)
    except Exception:  # noqa: BLE001 - what cannot even be defined is noticed by everybody
        return 1
    return int(not all(_passes(item, following) for item, following in itertools.pairwise([*items, None]) if item))


def _files(paths: list[Path]) -> list[str]:
    """Return the test files that name one of the modules in an import."""
    parents = [(_dotted(path), _dotted(path.parent), path.stem) for path in paths]
    chosen = []
    for file in sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("test_*.py")):
        text = file.read_text("utf-8")
        if any(f"{name} import" in text or (f"from {parent} import" in text and stem in text) for name, parent, stem in parents):
            chosen.append(str(file))
    return chosen


def main(chosen: list[str]) -> None:
    """Print the survivors and the table."""
    paths = [path for law in LAWS for path in sorted(PACKAGE.glob(law)) if path.name != "__init__.py"]
    every = next((int(part.removeprefix("every=")) for part in chosen if part.startswith("every=")), 1)
    chosen = [part for part in chosen if not part.startswith("every=")]
    paths = [path for path in paths if not chosen or any(part in str(path) for part in chosen)]
    plugin = Mutation(paths, every)
    options = ["--hypothesis-profile=mutants", "-p", "no:randomly", "-p", "no:cacheprovider", "-s", "--assert=plain", "--tb=native", "-m", FAST]
    pytest.main([*options, *_files(paths)], plugins=[plugin])
    survived = Counter(mutant.module for mutant in plugin.survivors)
    for module in sorted(plugin.killed | survived):
        total = plugin.killed[module] + survived[module]
        print(f"{module} {plugin.killed[module]}/{total} {plugin.killed[module] / total:.0%}")
    print(f"{plugin.killed.total()}/{plugin.killed.total() + survived.total()}")


if __name__ == "__main__":
    main(sys.argv[1:])
