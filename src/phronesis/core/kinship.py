"""Words for relatives of which another is the plain one: 我妈 and 我妈妈, "hubby" and "husband" are the same person."""

from typing import Final

_PLAIN: Final = {
    "bf": "boyfriend", "gf": "girlfriend", "hubby": "husband", "hubs": "husband", "wifey": "wife", "missus": "wife",
    "bro": "brother", "sis": "sister", "fiancé": "fiance", "fiancée": "fiancee", "lad": "son", "kids": "children",
    "sis-in-law": "sister-in-law", "bro-in-law": "brother-in-law", "mum-in-law": "mother-in-law",
    "mom-in-law": "mother-in-law", "dad-in-law": "father-in-law",
    "爸": "爸爸", "爹": "爸爸", "妈": "妈妈", "哥": "哥哥", "弟": "弟弟", "姐": "姐姐", "妹": "妹妹", "闺女": "女儿",
    "奶": "奶奶", "爷": "爷爷", "姥": "姥姥", "舅": "舅舅", "姑": "姑姑", "叔": "叔叔", "嫂": "嫂子",
}  # fmt: skip


def plain_relative(word: str) -> str:
    """Give the plain word for a relative; any other word as it is."""
    known = _PLAIN.get(word)
    if known is None and word.lower().endswith((" in law", "-in-law")):
        known = _PLAIN.get(word.lower().replace(" ", "-"), word.replace(" ", "-"))
    return known or word
