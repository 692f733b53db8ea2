"""A virtual environment for each framework that the adapters serve: none of them is a dependency of ours.

An environment lies below ``.build/environments``, named after a digest of what it is made of, and is made once. It
has what its framework needs and nothing more: our own packages are seen through a path that comes after its own, so
that what is there already is not installed again.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLACE = ROOT / ".build" / "environments"
FRAMEWORKS = Path(__file__).parent / "frameworks"

REQUIREMENTS: dict[str, tuple[str, ...]] = {
    "langgraph": ("langgraph==1.2.22",),
    "openai_agents": ("openai-agents==0.24.0",),
    "anthropic": ("anthropic==2.12.0",),
    "langchain": ("langchain-core>=1.7.2,<2", "langchain-tests==1.1.9"),
    "mem0": ("mem0ai==2.2.1",),
}
OPTIONS: dict[str, tuple[str, ...]] = {
    "langchain": ("-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function")
}
"""What a framework's own tests ask of pytest."""

BANNED = frozenset({"litellm"})
"""Shipped malware in March 2026."""


def python_of(name: str) -> Path:
    """Return the interpreter of a framework's environment, which is made when it is not there."""
    ours = sysconfig.get_paths()["purelib"]
    made_of = "\n".join([sys.version, ours, *REQUIREMENTS[name]])
    home = PLACE / f"{name}-{hashlib.sha256(made_of.encode()).hexdigest()[:12]}"
    python, finished = home / "bin" / "python", home / "finished"
    PLACE.mkdir(parents=True, exist_ok=True)
    with _locked(PLACE / f"{name}.lock"):
        if not finished.exists():
            for older in PLACE.glob(f"{name}-*"):  # half made, or of another day
                shutil.rmtree(older)
            _run(sys.executable, "-m", "venv", "--without-pip", str(home))
            site = Path(_run(str(python), "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])").strip())
            (site / "zz_ours.pth").write_text(f"{ours}\n")
            pip = ("-m", "pip", "--python", str(python), "--disable-pip-version-check", "install", "--quiet")
            _run(sys.executable, *pip, *REQUIREMENTS[name])
            finished.touch()
    return python


def installed(name: str) -> set[str]:
    """Return the names of the distributions that the environment itself holds."""
    code = "import sysconfig, importlib.metadata as m;"
    code += "print(*(d.name for d in m.distributions(path=[sysconfig.get_paths()['purelib']])))"
    return {re.sub(r"[-_.]+", "-", one).lower() for one in _run(str(python_of(name)), "-c", code).split()}


def run_tests(name: str) -> tuple[int, str]:
    """Run the framework's tests in its environment; returns how many passed, and all that was printed.

    A run that failed has passed none.
    """
    command = [str(python_of(name)), "-m", "pytest", "-c", str(FRAMEWORKS / "pytest.ini"), "--rootdir", str(FRAMEWORKS)]
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "COV_", "MEM0_"))}
    environment |= {
        "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")]),
        "MEM0_TELEMETRY": "False",
        "MEM0_DIR": str(PLACE / "mem0-home"),  # it writes a file there when it is imported
        "OPENAI_AGENTS_DISABLE_TRACING": "1",
        "LANGSMITH_TRACING": "false",
    }
    if name not in OPTIONS:
        environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # to load ours takes seconds
    done = subprocess.run(
        [*command, *OPTIONS.get(name, ()), str(FRAMEWORKS / f"test_{name}.py")],
        check=False, capture_output=True, text=True, cwd=FRAMEWORKS, env=environment, timeout=600,
    )  # fmt: skip
    said = done.stdout + done.stderr
    passed = re.search(r"(\d+) passed", said)
    return (int(passed[1]) if done.returncode == 0 and passed else 0), said


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _run(*command: str) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout
