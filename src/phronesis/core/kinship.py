"""Words for relatives of which a longer one is the plain one: 我妈 and 我妈妈 are the same person."""

from typing import Final

_PLAIN: Final = {
    "爸": "爸爸", "爹": "爸爸", "妈": "妈妈", "哥": "哥哥", "弟": "弟弟", "姐": "姐姐", "妹": "妹妹", "闺女": "女儿",
    "sis": "sister", "bro": "brother", "gf": "girlfriend", "bf": "boyfriend", "hubby": "husband", "hubs": "husband",
    "wifey": "wife",
}  # fmt: skip


def plain_relative(word: str) -> str:
    """Give the plain word for a relative; any other word as it is."""
    return _PLAIN.get(word, word)
