"""Texts that have nothing in common: what an encoder makes of them is how alike unrelated experience looks to it.

Encoders differ in where they put the cosine of two unrelated texts: .8 for E5, near 0 for others. The mean of these
vectors is taken off before events are compared, and the spread of their cosines is the unit: so the thresholds of
`table` mean the same with every encoder, and in a lane with five events as in one with thousands, whose own events
take over as they come (`core.experience.centring`). What the two languages differ in is taken off too.
"""

from typing import Final

ENGLISH: Final = (
    "The bread did not rise because the water was too hot for the yeast.",
    "Pinned the compiler version, and the release build passed again.",
    "The train to the coast was cancelled, so we took the night bus.",
    "Induction on the length of the list closed the goal.",
    "The robot put the clean mug on the coffee machine.",
    "The customer got a refund after the second call.",
    "Pruned the roses in February; they flowered twice.",
    "The query timed out until an index on the date column was added.",
    "He practised the scales slowly with a metronome.",
    "The titration overshot since the burette was opened too far.",
    "Asked for the price first and lost the negotiation.",
    "The login page rejected the form without a token.",
    "Learning rate warm-up kept the loss from diverging.",
    "The tent leaked where the seam had not been sealed.",
    "She repeated new words aloud before going to sleep.",
    "The invoice was paid twice because two people approved it.",
    "The camera lost focus when the light went down.",
    "A shorter agenda ended the meeting on time.",
    "The patient's dose was halved and the rash went away.",
    "Rewriting with commutativity looped for ever.",
    "The backup could not be restored: nobody had tried before.",
    "The glaze cracked as the kiln cooled too fast.",
    "A coin argument shows that the game cannot end in a draw.",
    "The parcel came back because the postcode was wrong.",
)

CHINESE: Final = (
    "面团发酵时间太短，烤出来很硬。",
    "把依赖版本锁定以后，构建就通过了。",
    "火车晚点，只好改坐长途汽车。",
    "对自然数归纳，结论得证。",
    "机器人没有先打开柜门，盘子放不进去。",
    "客户收到补偿以后撤回了投诉。",
    "浇水太勤，番茄的根烂了。",
    "给日期列加上索引，查询快了很多。",
    "谈判时先报了价，结果吃了亏。",
    "每天睡前背十个单词，效果不错。",
    "滴定时旋塞开得太大，读数作废。",
    "发票报销了两次，财务要求退回。",
)

TEXTS: Final = (*ENGLISH, *CHINESE)
LANGUAGES: Final = (0,) * len(ENGLISH) + (1,) * len(CHINESE)
"""The language of each, by number."""
