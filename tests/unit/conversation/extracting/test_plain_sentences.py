"""The second opinion refuses no plain sentence: what anybody says first to an assistant, in their own words."""

from datetime import UTC, datetime

import pytest

from phronesis.conversation.extracting.rules import Rules
from phronesis.conversation.extracting.tagging.opinion import second_opinion

AT = datetime(2026, 6, 1, tzinfo=UTC)

CHINESE = """
我叫小明，我喜欢喝茶
大家好，我叫小李
你好，我叫张伟，今年三十岁
我的名字是李娜
我叫王芳，是一名老师
我是陈晨，在深圳工作
我叫阿强
我今年二十八岁，住在广州
我住在成都，在腾讯上班
我在华为工作，是工程师
我是一名护士，在协和医院上班
我老家在山东，现在住在上海
我对花生过敏
我不吃香菜
我是素食主义者
我喜欢爬山和摄影
我讨厌吃苦瓜
我最喜欢的颜色是蓝色
我女儿叫朵朵，今年五岁
我老婆叫李静，是会计
我妈妈住在武汉
我弟弟在北京读大学
我养了一只猫，叫团子
我有一辆特斯拉
我的生日是三月五号
我的手机号是13800138000
我的邮箱是li@example.com
请用英文回答我
以后请叫我老王
以后回答简短一点
提醒我明天下午三点开会
下周五要交房租
明天上午十点去看牙医
我打算明年考研
我的目标是跑完一个马拉松
我们决定用PostgreSQL
项目的截止日期是六月三十号
后端用的是Go
服务器在法兰克福
我已经把报告写完了
我不再喝咖啡了
我上个月从北京搬到了杭州
我去年去了日本
我会说法语和日语
我在学西班牙语
我有高血压
我同事小赵负责前端
我的老板是刘总
我每天用Vim写代码
我更喜欢坐火车，不喜欢坐飞机
我现在不在阿里了，去了字节
我是复旦大学毕业的，学的是物理
我现在单身
我结婚了
我离婚了
我的时区是东八区
我爸是退休工程师，住在长沙
我同事老周在银行工作过
我朋友小刘对海鲜过敏
公司的地址是中关村大街1号
"""

ENGLISH = """
My name is Ana and I like tea
My mother's name is Rosa
My dog's name is Rex
Hi, I'm Tom
I'm 34 and I live in Leeds
I work at Siemens as an engineer
I'm a nurse at the county hospital
I grew up in Turin but now I live in Lyon
I'm allergic to peanuts
I don't eat pork
I'm a vegetarian
I like hiking and photography
I hate olives
My favourite colour is green
My daughter is called Mia and she is five
My wife Helena is an accountant
My mother lives in Porto
I have a cat called Pixel
I own a Tesla
My birthday is March 5
My phone number is 0151 2345678
My email is ana@example.com
Please answer in French from now on
Call me Ace from now on
Keep your answers short from now on
Remind me to call the bank on Friday
I need to renew my passport
I have a dentist appointment tomorrow at ten
We decided to use Postgres
The deadline of the project is June 30
The backend uses Go
I finished the report
I no longer drink coffee
I moved from Berlin to Bern last month
I visited Japan last year
I speak French and Japanese
I have diabetes
My colleague Jonas maintains the billing service
I prefer trains to planes
I left Acme and joined Globex
I'm married
My father is a retired engineer
"""


@pytest.mark.parametrize("text", [*CHINESE.split("\n")[1:-1], *ENGLISH.split("\n")[1:-1]])
def test_what_the_rules_take_of_a_plain_sentence_stays(text: str) -> None:
    ruled, _ = Rules().read(0, {"role": "user", "name": None}, text, AT)
    assert ruled, text
    opinion = second_opinion()(ruled, text)
    assert opinion.unlikely == []
