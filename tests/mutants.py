"""Measure how many mutants of the laws the fast tests kill: `make mutants [LAWS="forgetting every=5"]`.

The tests that import a law run once and are traced; then each mutant runs in a fork of the collected session, against
those tests only that reach its lines, quickest first, until one fails. Survivors are printed, then a table of modules.
Words given choose modules by a part of their path; `every=5` runs every fifth mutant.
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
from _pytest.runner import runtestprotocol
from coverage import Coverage

from mutations import Line, Mutant, mutants_of, transplant, uses_of

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "phronesis"
LAWS = ("*/laws.py", "*/laws/*.py", "recall/scoring/*.py", "recall/fusion.py", "core/confidence.py", "core/changes.py")
FOLDERS = ("tests/laws", "tests/unit/core", "tests/unit/experience/laws")  # those that open no store
FAST = "not slow and not postgres and not encoder"
SLOWEST = 0.5  # seconds of the slowest test that is asked
BUDGET = 5.0  # seconds of tests that one mutant is asked, at most
LIMIT = 10  # seconds of computing after which a mutant counts as killed
MEMORY = 8 << 30
UNDEFINED = 3  # status of the process of a mutant that raises where it is defined

Traced = tuple[dict[int, float], dict[int, set[Line]]]
"""By the number of a test: its seconds, and the lines that it reaches."""


class Mutation:
    """Plugin that runs mutants in place of the tests; ``killed`` and ``survivors`` say what became of them."""

    def __init__(self, paths: list[Path], every: int) -> None:
        self.paths = paths
        self.every = every
        self.killed: Counter[str] = Counter()
        self.undefined = 0
        self.survivors: list[Mutant] = []
        self._running: dict[int, Mutant] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_configure(self) -> None:
        """Draw the same examples each time, and do not make small what fails."""
        import hypothesis  # noqa: PLC0415 - pytest prepares it first

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
        from hypothesis import given, strategies  # noqa: PLC0415

        # What a session and the first drawn example need is made once, and stays for the forks.
        given(strategies.tuples(strategies.text(), strategies.floats()))(lambda _: None)()
        _passes(session.items[0], session.items[-1])
        seconds, lines = _traced(session.items, list(map(str, self.paths)))
        uses = uses_of(self.paths)
        gc.collect()
        gc.freeze()  # memory that is not touched need not be copied
        gc.disable()
        mutants = (mutant for path in self.paths for mutant in mutants_of(path, _dotted(path), uses))
        for mutant in itertools.islice(mutants, 0, None, self.every):
            while len(self._running) >= (os.cpu_count() or 1):
                self._reap()
            if not (pid := os.fork()):
                _judge(mutant, [session.items[number] for number in _asked(mutant, seconds, lines)])
            self._running[pid] = mutant
        while self._running:
            self._reap()
        return True

    def _reap(self) -> None:
        pid, status = os.wait()
        mutant = self._running.pop(pid)
        self.undefined += os.waitstatus_to_exitcode(status) == UNDEFINED
        if status:
            self.killed[mutant.module] += 1
        else:
            self.survivors.append(mutant)
            os.write(1, f"{mutant}\n".encode())


def _traced(items: list[pytest.Item], names: list[str]) -> Traced:
    """Trace in a fork: what a test leaves behind in caches would hide mutants."""
    with tempfile.TemporaryFile() as report:
        if not (pid := os.fork()):
            try:
                pickle.dump(_trace(items, names), report)
                report.flush()
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        report.seek(0)
        found: Traced = pickle.load(report)  # noqa: S301 - this process wrote it
        return found


def _trace(items: list[pytest.Item], names: list[str]) -> Traced:
    seconds: dict[int, float] = {}
    lines: defaultdict[int, set[Line]] = defaultdict(set)
    counting = Coverage(data_file=None, config_file=False, include=names)
    signal.signal(signal.SIGPROF, _give_up)
    counting.start()
    for number, (item, following) in enumerate(itertools.pairwise([*items, None])):
        counting.switch_context(str(number))
        signal.setitimer(signal.ITIMER_PROF, 2 * SLOWEST)
        begun = time.process_time()
        passed = item is not None and _passes(item, following)
        taken = time.process_time() - begun
        if passed and taken < SLOWEST:
            seconds[number] = taken
    signal.setitimer(signal.ITIMER_PROF, 0)
    counting.stop()
    data = counting.get_data()
    for name in data.measured_files():
        for line, numbers in data.contexts_by_lineno(name).items():
            for number in map(int, filter(None, numbers)):
                if number in seconds:
                    lines[number].add((name, line))
    return seconds, dict(lines)


def _give_up(*_: object) -> None:
    pytest.fail("slow", pytrace=False)


def _passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


def _asked(mutant: Mutant, seconds: dict[int, float], lines: dict[int, set[Line]]) -> Iterator[int]:
    """Yield the tests that reach the mutant, quickest first."""
    left = BUDGET
    for number in sorted(lines, key=seconds.__getitem__):
        if not mutant.lines.isdisjoint(lines[number]) and (left := left - seconds[number]) > 0:
            yield number


def _judge(mutant: Mutant, items: list[pytest.Item]) -> None:
    """End this process with 0 if every test passes on the mutant; endless loops end by a signal."""
    status = UNDEFINED
    try:
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        signal.alarm(LIMIT * 10)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        transplant(mutant)
        status = 1
        pairs = itertools.pairwise([*items, None])
        status = int(not all(_passes(item, following) for item, following in pairs if item is not None))
    finally:
        os._exit(status)


def _dotted(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)


def _files(paths: list[Path]) -> list[str]:
    """Return the test files that import one of the modules."""
    parents = [(_dotted(path), _dotted(path.parent), path.stem) for path in paths]
    chosen = []
    for file in sorted(file for folder in FOLDERS for file in (ROOT / folder).rglob("test_*.py")):
        text = file.read_text("utf-8")
        if any(
            f"{name} import" in text or (f"{parent} import" in text and stem in text) for name, parent, stem in parents
        ):
            chosen.append(str(file))
    return chosen


def main(words: list[str]) -> None:
    """Print the survivors and the table."""
    every = next((int(word.removeprefix("every=")) for word in words if word.startswith("every=")), 1)
    chosen = [word for word in words if not word.startswith("every=")]
    paths = [path for law in LAWS for path in sorted(PACKAGE.glob(law)) if path.name != "__init__.py"]
    paths = [path for path in paths if not chosen or any(part in str(path) for part in chosen)]
    plugin = Mutation(paths, every)
    options = ["--hypothesis-profile=mutants", "--assert=plain", "--tb=native", "-s", "-m", FAST]
    pytest.main([*options, "-p", "no:randomly", "-p", "no:cacheprovider", *_files(paths)], plugins=[plugin])
    survived = Counter(mutant.module for mutant in plugin.survivors)
    for module in sorted(plugin.killed | survived):
        killed, total = plugin.killed[module], plugin.killed[module] + survived[module]
        print(f"{killed / total:5.0%} {killed:4}/{total:<4} {module}")  # noqa: T201
    print(f"{plugin.killed.total()} of {plugin.killed.total() + survived.total()} mutants are killed")  # noqa: T201
    print(f"{plugin.undefined} of these raise where they are defined")  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1:])
