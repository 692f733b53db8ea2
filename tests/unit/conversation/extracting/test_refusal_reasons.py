"""Why something was not learned is said in words that help."""

from phronesis import Memory


def test_what_the_rules_do_not_recognise_names_the_remedy(sqlite_url: str) -> None:
    with Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
        [gated] = memory.add("Hmm, well, you know how it goes.", user_id="ann").gated
    assert gated.rule == "chit_chat"
    assert "roles.extract" in gated.reason
