"""The same said by people of many countries, typed and dictated; and beside each family what only looks like it."""

import re
from datetime import datetime

import pytest

from phronesis.core.instants import parse_moment
from phronesis.core.proposals import Proposal
from phronesis.derive.extracting.rules import Rules
from phronesis.derive.extracting.tables import _any_of  # pyright: ignore[reportPrivateUsage]

AT = parse_moment("2026-05-20T12:00:00Z", field="at")  # a Wednesday


def read(text: str, at: datetime = AT) -> list[Proposal]:
    return Rules().read(0, {"role": "user"}, text, at)[0]


SAID = [
    # fillers, contractions without apostrophe, subjects left out, run-on speech
    ("ok so basically i live in boston with my two kids and im allergic to latex", "home_city", "boston"),
    ("ok so basically i live in boston with my two kids and im allergic to latex", "allergy", "latex"),
    ("allergic to penicillin btw", "allergy", "penicillin"),
    ("been working at Aldi since October", "employer", "Aldi"),
    ("I don't work for DPD any more I'm with Evri now", "employer", "Evri"),
    ("i dey work for GTBank", "employer", "GTBank"),
    ("since January I work at BMW", "employer", "BMW"),
    ("I should mention that I have type 2 diabetes", "health", "diabetes"),
    # what stands beside a fact
    ("im a sparky up in the mines", "job", "sparky"),
    ("I'm a taxi driver here in Lagos", "job", "taxi driver"),
    ("I can play harmonium quite decently even now", "skill", "harmonium"),
    # families
    ("I run a little hardware store", "job", "hardware store"),
    ("I do medical billing from home", "job", "medical billing"),
    ("I sell ankara fabrics", "job", "ankara fabrics"),
    ("I'm a sales rep at Linde", "job", "sales rep"),
    ("my dad, he's got diabetes", "health", "diabetes"),
    ("my eldest, Ife, is 12", "child", "Ife"),
    ("the wife, Nkechi, is a banker", "partner", "Nkechi"),
    ("my wife anna is a baker", "partner", "Anna"),
    ("our artist is Yuki", "colleague", "Yuki"),
    ("I got engaged last month, her name is Deepa", "partner", "Deepa"),
    ("we've got three kids, Mason is 9, Lily is 6 and then there's Owen", "child", "Owen"),
    ("currently staying in Mumbai", "home_city", "Mumbai"),
    ("native of Jaipur", "hometown", "Jaipur"),
    ("i am pure veg", "diet", "pure veg"),
    ("I don't take beef", "diet", "beef"),
    ("I struggle with anxiety", "health", "anxiety"),
    ("on weekends I surf, I surf every weekend", "hobby", "surf"),
    ("crowds put me off", "dislikes", "crowds"),
    ("mad about cricket", "likes", "cricket"),
    ("Under six hours I prefer the train to the plane", "prefers", "train"),
    ("I keep my accounts in Excel", "uses", "Excel"),
    ("For all future summaries, please use bullet points.", "reply_style", "bullet points"),
    ("new number, its 0412 555 019 now", "phone", "0412 555 019"),
    ("my placement starts on monday at 7am", "appointment", "placement"),
    ("playtest is on Wednesday at the community centre", "appointment", "playtest"),
    ("I'm seeing the GP on Thursday", "appointment", "GP"),
    ("Last weekend my friend Aisha and I went to a cheese fair", "event", "cheese fair"),
    ("ran my first marathon on Sunday", "event", "marathon"),
    ("we submitted the paper to eLife last week", "event", "paper"),
    ("I was made redundant in January", "life_event", "redundant"),
    ("I spent ten years in the merchant navy", "experience", "merchant navy"),
    ("I want to lose eight kilos", "goal", "lose eight kilos"),
    ("we're hoping to move to Spain next year", "plan", "move to Spain"),
    ("After long discussions we have decided to take the heat pump from Viessmann", "decision", "heat pump"),
    ("I have decided not to work with agencies any more", "decision", "not to work with agencies"),
    ("the store is closed on Mondays", "fact", "closed on Mondays"),
    ("staging is in Mumbai", "located_in", "Mumbai"),
    ("deadline for Harbor is May 18 now", "attribute.deadline", "May 18"),
    # who says something, and whom a clause names before
    ("my girlfriend kelsey says hi lol", "partner", "kelsey"),
    ("My labmate Yuting thinks reviewer 2 is unfair", "colleague", "Yuting"),
    ("My boss Omar told me it can wait", "colleague", "Omar"),
    ("I had lunch with Farid, he's my supervisor", "colleague", "Farid"),
    ("My wife tells me I ought to mention that I have atrial fibrillation", "health", "atrial fibrillation"),
    ("Hello, I study at the University of Leeds, the weather is like everybody said", "school", "University of Leeds"),
    # a laugh about something else, run-on speech, several at once
    ("My major is computational biology so please no wet lab advice haha", "field_of_study", "computational biology"),
    ("we have twins they are called Leo and Nora and I have not slept", "child", "Nora"),
    ("We have three kids, Ann, Bo and Cy.", "child", "Cy"),
    ("we have a little girl, her name is Rosa", "child", "Rosa"),
    ("My boy Wyatt starts school in September", "child", "Wyatt"),
    ("I use Overleaf for writing and Zotero for the references", "uses", "Zotero"),
    ("I use Xero for nearly everything", "uses", "Xero"),
    ("packed in uber eats, im with deliveroo now", "employer", "deliveroo"),
    ("My hobby these days is model steam engines", "hobby", "model steam engines"),
    ("I'm a corn and soybean farmer, third generation", "job", "corn and soybean farmer"),
    ("I'm a stay at home dad of three", "job", "stay at home dad"),
    ("I lead the design team at Figma", "employer", "Figma"),
    ("I recently qualified as a vet", "job", "vet"),
    ("I'm doing an apprenticeship at Rolls-Royce", "employer", "Rolls-Royce"),
    ("I'm coeliac so I don't eat bread", "health", "coeliac"),
    ("I can't do gluten", "diet", "gluten"),
    ("Nuts make my throat swell", "allergy", "Nuts"),
    ("I sing in a choir on Tuesdays", "hobby", "choir"),
    ("as a Kenyan I find the winters hard", "nationality", "Kenyan"),
    ("Pune is where I grew up", "hometown", "Pune"),
    ("As a young man I worked on the Humber Bridge", "experience", "Humber Bridge"),
    ("in my twenties I lived in Kyoto", "experience", "Kyoto"),
    ("came off the bike on tuesday", "event", "bike"),
    ("I've got an interview for the supervisor post tomorrow", "appointment", "interview for the supervisor post"),
    ("got a gig in Leeds tomorrow night", "appointment", "gig in Leeds"),
    ("The plumber is coming on Tuesday", "appointment", "plumber"),
    ("I must remember to water the plants", "task", "water the plants"),
    ("I decided against the surgery", "decision", "against the surgery"),
    ("Don't sugarcoat things.", "reply_style", "sugarcoat"),
    ("prod cluster is in eu-west-1 fyi", "located_in", "eu-west-1"),
    ("the staging db gets wiped every Sunday night", "fact", "gets wiped every Sunday night"),
    # tastes, with the thing first, compared, or in so many words
    ("spiders, can't stand them", "dislikes", "spiders"),
    ("speed cameras can get in the bin", "dislikes", "speed cameras"),
    ("olives? hard no, what else goes on it", "dislikes", "olives"),
    ("sushi? love it, any spots in Leeds", "likes", "sushi"),
    ("I don't get the hype around Marvel", "dislikes", "Marvel"),
    ("can't abide loud chewers", "dislikes", "loud chewers"),
    ("I'd rather starve than eat tripe", "dislikes", "tripe"),
    ("loud restaurants do my head in", "dislikes", "loud restaurants"),
    ("you can't beat a bacon sarnie", "likes", "bacon sarnie"),
    ("proper into techno", "likes", "techno"),
    ("aisle over window, every time", "prefers", "aisle"),
    ("Mac over Windows for me", "prefers", "Mac"),
    ("I'm a books over films kind of person", "prefers", "books"),
    ("would rather read than watch telly", "prefers", "read"),
    ("my favourite season? autumn, obviously", "favorite.season", "autumn"),
    ("fave cheese: comté", "favorite.cheese", "comté"),
    ("Dune, my favourite book", "favorite.book", "Dune"),
    ("fav drink ginger beer", "favorite.drink", "ginger beer"),
    # pastimes, by their day or by what they do for one
    ("pottery most thursdays, badly", "hobby", "pottery"),
    ("Saturdays are sacred: birdwatching on the estuary", "hobby", "birdwatching"),
    ("knitting keeps me sane", "hobby", "knitting"),
    ("my son Theo plays chess", "hobby", "chess"),
    ("keen gardener here, heavy clay", "hobby", "gardener"),
    # tools, by what they are for
    ("Todoist for tasks, a paper diary for meetings", "uses", "paper diary"),
    ("still do it all in Excel", "uses", "Excel"),
    ("moved the lot over to Fastmail", "uses", "Fastmail"),
    ("dropped Evernote, Joplin now", "uses", "Joplin"),
    ("my browser is Firefox", "uses", "Firefox"),
    # how to answer, and in what
    ("Welsh please, in all your replies", "reply_language", "Welsh"),
    ("could you talk to me in Polish from now on", "reply_language", "Polish"),
    ("stick to Bahasa Indonesia for all our chats", "reply_language", "Bahasa Indonesia"),
    ("for dates I want British spelling only", "reply_style", "British spelling only"),
    ("from now on just give me the fix", "reply_style", "give me the fix"),
    ("don't start with a summary every time", "reply_style", "don't start with a summary"),
    ("new rule: code first", "reply_style", "code first"),
    ("I love ramen, spots near Leeds?", "likes", "ramen"),
]


@pytest.mark.parametrize(("text", "key", "value"), SAID)
def test_the_same_is_understood_in_other_peoples_words(text: str, key: str, value: str) -> None:
    found = [(one.key, one.value) for one in read(text)]
    assert any(one == key and value.casefold() in (held or "").casefold() for one, held in found), found


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("We no longer have the caravan", "possession", "caravan"),
        ("you can scrap the reminder about the bins", "reminder", "bins"),
        ("We are not going to build the garage", "plan", "build the garage"),
        ("the backend doesn't use Redis any more", "uses", "Redis"),
        ("I'm not with Bruna anymore", "partner", "Bruna"),
        ("Oh and I'm not vegan any more, so you can stop with the tofu haha", "diet", "vegan"),
        ("by the way I am not a surveyor any more you can drop that", "job", "surveyor"),
        ("I handed in my notice at Tesco", "employer", "Tesco"),
        ("packed in golf, knees are shot", "hobby", "golf"),
        ("choir isn't for me any more", "hobby", "choir"),
        ("my climbing days are over", "hobby", "climbing"),
        ("no more Instagram for me", "uses", "Instagram"),
        ("been off cigarettes since march", "uses", "cigarettes"),
        ("gone off sushi since that trip", "likes", "sushi"),
    ],
)
def test_what_no_longer_holds_is_taken_back_in_other_words(text: str, key: str, value: str) -> None:
    [one] = read(text)
    assert (one.key, one.value, one.act) == (key, value, "retract")


@pytest.mark.parametrize(
    "text",
    [
        # questions, and what is asked of the assistant
        "do you sell shoes", "does the store close on Mondays?", "what are symptoms of diabetes",
        "write an email to my boss Anna saying I'm sick", "give me three options", "put it in a table",
        "explain asthma like I am five",
        # passing states and places
        "I'm staying in tonight", "I'm staying in a hotel in Rome this week", "been in a meeting all morning",
        "I was at home today", "I'm off today", "I'm on it", "I'm on a call", "I'm at level 5 of the game",
        "I'm dealing with a bug", "I'm struggling with this exercise", "I can't eat another bite",
        "my son is asleep", "my cat is hungry", "my wife is calling", "my boss is annoying", "my mom called",
        # what one does with the assistant is no event
        "I tried your code yesterday", "I closed the tab yesterday", "I saw it yesterday", "I broke the build today",
        # wishes, plans of the moment, sayings
        "I'm hoping to get an answer", "I want to learn how this works", "I'm not going to lie", "never give up",
        "I live for the drama", "I'd sooner die", "hate to bother you", "love is love", "I suffer from Mondays",
        # talk of nobody, and of things
        "some guy called Mike", "she's a lawyer", "their daughter is 5", "the author lives in Maine",
        "Python uses indentation", "the value is at index 3", "the button is on the right", "Rome is home to many cats",
        "I'm a regular at Joe's", "I'm a bit of a mess by trade", "sure, and I'm the Pope", "Frosty here again",
        "the joke is on me", "driving me nuts today", "I collect my thoughts", "Enjoy yourself",
        # irony, and laughs about what is said
        "oh sure, I just love getting paged at 3am, best hobby ever", "I love being woken at 5am",
        "I'm married to my job lol", "I've got a PhD in procrastination, minor in snacking lol",
        # whose words they are
        "I'm the best, my mum says", "he said he lives in Rome", "a boy called out to me", "they are called arrays",
        # what one has at hand, does now, or is told of the whole world
        "I have the car today", "I have no car", "I'm from the marketing team", "I can cook dinner tonight",
        "gotta stay focused", "I'll keep you posted", "my diet starts tomorrow", "the interview on Monday was odd",
        "I need to learn from you", "the files are sent at random", "the data is in the table", "my name is mud",
        "the color of the sky is blue", "My wife's sister lives in Rome", "Pets are great at hiding",
        # what is compared, praised, dropped or asked for this once
        "JSON over HTTP", "walk over the bridge", "no more questions", "Tips for writing", "working most weekends",
        "the meeting is over", "same error every time", "give me the answer in Spanish just this once",
        "favourite colour? asking for a survey", "he can get in the car now", "off to the shops", "Netflix is down",
        "don't forget to lock the door every time", "can I use Notion for tasks", "running late", "can't do tomorrow",
        "Don't use emojis in this email", "I decided to ask you", "We went with the second option",
    ],
)  # fmt: skip
def test_what_only_looks_so_is_not_taken(text: str) -> None:
    assert [one for one in read(text) if not one.done] == []


def test_she_is_whoever_was_named_before() -> None:
    found = read("Petra Vogel works at Brandt Logistik. Her email is p.vogel@brandt.example.")
    assert {(one.subject, one.key) for one in found} == {("Petra Vogel", "employer"), ("Petra Vogel", "email")}


def test_a_job_is_no_name() -> None:
    assert [(one.key, one.value) for one in read("my husband is a bus driver")] == [("job", "bus driver")]


def test_words_that_share_their_beginnings_are_one_expression() -> None:
    words = ["a", "at", "atom", "bus", "bus driver", "c++"]
    found = re.compile(_any_of(words))
    assert [word for word in words if found.fullmatch(word)] == words
    assert not any(found.fullmatch(word) for word in ("", "ato", "bus d", "c+", "b"))
    assert _any_of(["one"]) == "(?:one)"
