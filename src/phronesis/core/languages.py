"""Names of languages, in English, Chinese and their own, and their codes (BCP 47)."""

from collections.abc import Mapping
from typing import Final

_NAMES: Final = """
af afrikaans 南非语 | sq albanian 阿尔巴尼亚语 | am amharic 阿姆哈拉语 | ar arabic 阿拉伯语 阿拉伯文 العربية
hy armenian 亚美尼亚语 | az azerbaijani 阿塞拜疆语 | eu basque 巴斯克语 | be belarusian 白俄罗斯语
bn bengali bangla 孟加拉语 | bs bosnian 波斯尼亚语 | bg bulgarian 保加利亚语 | my burmese 缅甸语
ca catalan català 加泰罗尼亚语 | zh chinese 中文 汉语 漢語 华语 中国话 | cmn mandarin 普通话 国语 國語 官话
yue cantonese 粤语 粵語 广东话 白话 | hsn 湖南话 湘语 | wuu shanghainese 上海话 吴语
nan hokkien taiwanese 闽南语 闽南话 台语 | hak hakka 客家话 | hr croatian 克罗地亚语 | cs czech 捷克语 čeština
da danish 丹麦语 dansk | nl dutch 荷兰语 nederlands flemish | en english 英语 英文 英語 | eo esperanto 世界语
et estonian 爱沙尼亚语 | fi finnish 芬兰语 suomi | fr french 法语 法文 法語 français | gl galician 加利西亚语
ka georgian 格鲁吉亚语 | de german 德语 德文 德語 deutsch | el greek 希腊语 | gu gujarati 古吉拉特语
ha hausa 豪萨语 | he hebrew 希伯来语 | hi hindi 印地语 | hu hungarian 匈牙利语 magyar | is icelandic 冰岛语
ig igbo 伊博语 | id indonesian 印尼语 印度尼西亚语 | ga gaelic 爱尔兰语 | it italian 意大利语 意大利文 italiano
ja japanese 日语 日文 日語 日本語 日本话 | kn kannada 卡纳达语 | kk kazakh 哈萨克语 | km khmer 高棉语
ko korean 韩语 韩文 韓語 朝鲜语 한국어 | ku kurdish 库尔德语 | lo lao 老挝语 | la latin 拉丁语
lv latvian 拉脱维亚语 | lt lithuanian 立陶宛语 | lb luxembourgish 卢森堡语 | mk macedonian 马其顿语
ms malay 马来语 | ml malayalam 马拉雅拉姆语 | mt maltese 马耳他语 | mr marathi 马拉地语
mn mongolian 蒙古语 蒙语 | ne nepali 尼泊尔语 | no norwegian 挪威语 norsk | ps pashto 普什图语
fa persian farsi 波斯语 | pl polish 波兰语 polski | pt portuguese 葡萄牙语 葡语 葡文 português
pa punjabi 旁遮普语 | ro romanian 罗马尼亚语 | ru russian 俄语 俄文 俄語 русский | gd 盖尔语
sr serbian 塞尔维亚语 | si sinhala 僧伽罗语 | sk slovak 斯洛伐克语 | sl slovenian slovene 斯洛文尼亚语
so somali 索马里语 | es spanish castilian 西班牙语 西语 西班牙文 español | sw swahili kiswahili 斯瓦希里语
sv swedish 瑞典语 svenska | tl tagalog filipino 他加禄语 菲律宾语 | ta tamil 泰米尔语 | te telugu 泰卢固语
th thai 泰语 泰文 | bo tibetan 藏语 | tr turkish 土耳其语 türkçe | uk ukrainian 乌克兰语 | ur urdu 乌尔都语
ug uyghur 维吾尔语 维语 | uz uzbek 乌兹别克语 | vi vietnamese 越南语 越南文 越语 | cy welsh 威尔士语
xh xhosa 科萨语 | yi yiddish 意第绪语 | yo yoruba 约鲁巴语 | zu zulu 祖鲁语 | sgn 手语 bsl asl auslan lsf
ak twi akan | ti tigrinya | se sami sámi | om oromo | wo wolof | ln lingala | rw kinyarwanda | sn shona | st sesotho
tn setswana tswana | lg luganda | ki kikuyu | ff fulani fula | kri krio | ceb cebuano bisaya | ilo ilocano
or odia oriya | as assamese | sd sindhi | kok konkani | bho bhojpuri | ht creole | jam patois | pcm pidgin
mi maori māori | sm samoan | haw hawaiian | hmn hmong | prs dari | tg tajik | tk turkmen | ky kyrgyz | tt tatar
rom romani | qu quechua | gn guarani | br breton | fy frisian | fo faroese | ga irish
lad ladino | rue rusyn | hsb sorbian | sc sardinian | scn sicilian | co corsican | oc occitan | fur friulian
rm romansh | gv manx | kw cornish | ast asturian | nap neapolitan | vec venetian | ber tamazight berber | arc aramaic
ku kurmanji sorani | bal balochi | kab kabyle | ee ewe | bm bambara | chr cherokee | nv navajo | iu inuktitut
ay aymara
"""

LANGUAGES: Final[Mapping[str, str]] = {
    name: code for row in _NAMES.replace("\n", "|").split("|") if row.split() for code, *names in [row.split()]
    for name in names
} | {"sign language": "sgn", "irish gaelic": "ga", "simplified chinese": "zh-Hans", "traditional chinese": "zh-Hant",
     "简体中文": "zh-Hans", "繁体中文": "zh-Hant", "繁體中文": "zh-Hant",
     "简体": "zh-Hans", "简体字": "zh-Hans", "繁体": "zh-Hant", "繁体字": "zh-Hant",
     "繁體": "zh-Hant", "繁體字": "zh-Hant",
     "brazilian portuguese": "pt-BR", "british english": "en-GB",
     "american english": "en-US", "us english": "en-US", "uk english": "en-GB", "swiss german": "gsw",
     "bahasa": "id", "bahasa indonesia": "id", "bahasa melayu": "ms", "cebuano": "ceb", "bisaya": "ceb", "irish": "ga",
     "dari": "prs", "pidgin": "pcm", "nigerian pidgin": "pcm"}  # fmt: skip
"""From a name in small letters to its code."""

_CODES: Final = frozenset(LANGUAGES.values())


def language_code(name: str) -> str | None:
    """Give the code of a language by its name or code, in any case; None for what is no language known here."""
    word = name.strip().casefold()
    return LANGUAGES.get(word) or next((code for code in _CODES if code.casefold() == word), None)
