"""What the writers' server does before it forks: it writes a turn, so that no child reads and compiles the tables.

Importing this does it. Reading them takes half a second, more than all else that a child does until it is killed.
"""

import gc
from pathlib import Path
from tempfile import TemporaryDirectory

from phronesis.memory import Memory

with (
    TemporaryDirectory() as folder,
    Memory.open(f"sqlite:///{Path(folder) / 'memory.db'}", policy={"embedder": "none"}) as memory,
):
    memory.commit_turn("s", {"messages": [{"role": "user", "content": "I live in Kyoto. 我住在北京。"}]}, user_id="u")
    memory.add("a note", user_id="u")

gc.freeze()  # a child that collects garbage would touch, and so copy, all that it shares with the server
