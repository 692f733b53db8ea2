"""Words for relatives of which a longer one is the plain one: 我妈 and 我妈妈 are the same person."""

from typing import Final

_PLAIN: Final = {
    "爸": "爸爸", "爹": "爸爸", "妈": "妈妈", "哥": "哥哥", "弟": "弟弟", "姐": "姐姐", "妹": "妹妹", "闺女": "女儿",
    "奶": "奶奶", "爷": "爷爷", "姥": "姥姥", "舅": "舅舅", "姑": "姑姑", "叔": "叔叔", "嫂": "嫂子",
}  # fmt: skip


def plain_relative(word: str) -> str:
    """Give the plain word for a relative; any other word as it is."""
    return _PLAIN.get(word, word)
