"""An assistant that remembers, with the library: compose the context, answer, commit the turn.

Run it with ``python examples/memory.py sqlite:///assistant.db``.
"""

import sys

from phronesis import Memory

SAID = ("I live in Oslo and I am allergic to peanuts.", "I moved to Bergen.", "Where do I live?")


def answer(context: str) -> str:
    """Stand in for a language model: replace it by a call of yours, with ``context`` as its prompt."""
    return "Understood [m1]." if "[m1]" in context else "Understood."


def main(url: str) -> None:
    """Hold a short conversation and look at what was learned from it."""
    with Memory.open(url) as memory:
        for said in SAID:
            context = memory.compose_context("monday", said, user_id="ann", token_budget=800)
            messages = [{"role": "user", "content": said}, {"role": "assistant", "content": answer(str(context))}]
            done = memory.commit_turn("monday", messages, user_id="ann", context_id=context.context_id)
            print(done.stored)
        print(memory.explain(context.citations["m1"]).use)  # the answer cited it
        print(memory.search("Where do I live?", user_id="ann"))
        print(memory.items.preview("I moved to Tromsø.", user_id="ann").proposals)
        for event in memory.history(done.stored[0].id, user_id="ann"):
            print(event)


if __name__ == "__main__":
    main(*sys.argv[1:])
