"""The same said by people of many countries, typed and dictated; and beside each family what only looks like it."""

import re
from datetime import datetime

import pytest

from phronesis.conversation.extracting.lexicon import _any_of  # pyright: ignore[reportPrivateUsage]
from phronesis.conversation.extracting.rules import Rules
from phronesis.core.proposals import Proposal
from phronesis.core.timestamps import parse_moment

AT = parse_moment("2026-05-20T12:00:00Z", field="at")  # a Wednesday


def read(text: str, at: datetime = AT) -> list[Proposal]:
    return Rules().read(0, {"role": "user"}, text, at)[0]


SAID = [
    # fillers, contractions without apostrophe, subjects left out, run-on speech
    ("ok so basically i live in boston with my two kids and im allergic to latex", "home_city", "boston"),
    ("ok so basically i live in boston with my two kids and im allergic to latex", "allergy", "latex"),
    ("allergic to penicillin btw", "allergy", "penicillin"),
    # people: who they are beside their names, and oneself in few words
    ("bestie Marla had a rough week", "friend", "Marla"),
    ("Otto my oldest friend lives in Graz", "home_city", "Graz"),
    ("Ines from uni is a vet", "friend", "Ines"),
    ("Goran at work covers my Fridays", "colleague", "Goran"),
    ("me brother Ned works at Tesco", "sibling", "Ned"),
    ("mum (Dorothea) lives in Bath", "parent", "Dorothea"),
    ("the beagle, Figaro, is ill again", "pet", "Figaro"),
    ("Salt and Pepper, 2 cats, always fighting", "pet", "Pepper"),
    ("the kids are Ruben and Alma", "child", "Alma"),
    ("Vera and I got engaged at Easter", "partner", "Vera"),
    ("female, 37, any stretches", "gender", "female"),
    ("female, 37, any stretches", "age", "37"),
    ("I'm Ludmila, 52, nurse", "job", "nurse"),
    # people by what they do, in a word, in figures, on forms
    ("Ragnhild runs payroll, ask her", "colleague", "Ragnhild"),
    ("Levan, our head brewer, is off sick", "colleague", "Levan"),
    ("dog: Waffle, chip 4411", "pet", "Waffle"),
    ("the new intern Sanna starts monday", "colleague", "Sanna"),
    ("our friends Petra and Milos are over", "friend", "Milos"),
    ("kid number two, Ottavia, is here", "child", "Ottavia"),
    ("a card for my wife Ludivine, what rhymes with fifty?", "partner", "Ludivine"),
    ("dob: 23/11/84, form C", "birthday", "23/11/84"),
    ("Tank is what the whole rowing club calls me", "alias", "Tank"),
    ("stage name's Lady Asphalt", "alias", "Lady Asphalt"),
    ("from now on call me Chief, the crew does", "address_as", "Chief"),
    ("Mauritian by passport, Welsh by marriage", "nationality", "Mauritian"),
    ("I'm a woman of 58 and new to this", "gender", "woman"),
    ("we've been married thirty years and he still burns toast", "relationship_status", "married"),
    ("Kenyan passport, visa for Japan", "nationality", "Kenyan"),
    ("my nan calls me Button", "alias", "Button"),
    ("bday's 9 May", "birthday", "9 May"),
    ("stop calling me sir, it's just Nell", "address_as", "Nell"),
    ("Philips is where my brother works", "employer", "Philips"),
    ("my niece Tove is seven", "age", "seven"),
    ("my wife is vegan, recipe ideas?", "diet", "vegan"),
    ("two girls, Ida 6 and Runa 9", "age", "9"),
    ("been married 11 years", "relationship_status", "married"),
    ("my mum, she's called Odette and loves opera", "likes", "opera"),
    ("CFO is Ingmar", "job", "CFO"),
    ("I don't work for DPD any more I'm with Evri now", "employer", "Evri"),
    ("i dey work for GTBank", "employer", "GTBank"),
    ("since January I work at BMW", "employer", "BMW"),
    ("I should mention that I have type 2 diabetes", "health", "diabetes"),
    # what stands beside a fact
    ("im a sparky up in the mines", "job", "sparky"),
    ("I'm a taxi driver here in Lagos", "job", "taxi driver"),
    ("I can play harmonium quite decently even now", "skill", "harmonium"),
    # families
    ("I sell ankara fabrics", "job", "ankara fabrics"),
    ("I'm a sales rep at Linde", "job", "sales rep"),
    ("my dad, he's got diabetes", "health", "diabetes"),
    ("my eldest, Ife, is 12", "child", "Ife"),
    ("the wife, Nkechi, is a banker", "partner", "Nkechi"),
    ("my wife anna is a baker", "partner", "Anna"),
    ("our artist is Yuki", "colleague", "Yuki"),
    ("we've got three kids, Mason is 9, Lily is 6 and then there's Owen", "child", "Owen"),
    ("i am pure veg", "diet", "pure veg"),
    ("I struggle with anxiety", "health", "anxiety"),
    ("mad about cricket", "likes", "cricket"),
    ("Under six hours I prefer the train to the plane", "prefers", "train"),
    ("I keep my accounts in Excel", "uses", "Excel"),
    ("For all future summaries, please use bullet points.", "reply_style", "bullet points"),
    ("new number, its 0412 555 019 now", "phone", "0412 555 019"),
    # what is to be done, without a subject, and what one is to be reminded of
    ("pick up the dry cleaning thursday", "task", "pick up the dry cleaning"),
    ("need to feed the hens, mend the fence and call the vet", "task", "mend the fence"),
    ("nudge me thursday about the invoice", "reminder", "invoice"),
    ("remind me lock the shed tonight", "reminder", "lock the shed"),
    ("keep forgetting: water the ferns on sunday", "reminder", "water the ferns"),
    ("prune the roses on saturday, remind me", "reminder", "prune the roses"),
    ("ping me at seven to move the car", "reminder", "move the car"),
    ("take out the recycling sunday night buzz me", "reminder", "take out the recycling"),
    ("would you be so kind as to remind me to ring the plumber on Monday", "reminder", "ring the plumber"),
    ("reminder please: library books on the 3rd", "reminder", "library books"),
    ("I've been asked to write the foreword for the yearbook", "task", "write the foreword"),
    ("my landlord wants me to repaint the hallway", "task", "repaint the hallway"),
    ("the gas bill is due on the 14th", "task", "gas bill"),
    ("descale the kettle, that's on my list", "task", "descale the kettle"),
    # aims, plans and decisions, with the word for them before, after, or left out
    ("new year resolution, no booze", "goal", "no booze"),
    ("a sub 20 5k, that's the dream", "goal", "sub 20 5k"),
    ("get to C1 in Danish", "goal", "get to C1 in Danish"),
    ("own a bakery before I'm fifty", "goal", "own a bakery"),
    ("cycle the Danube in july, just the two of us", "plan", "cycle the Danube"),
    ("moving to Leeds in september", "plan", "moving to Leeds"),
    ("Friday it is then", "decision", "Friday"),
    ("final call: no carpets upstairs", "decision", "no carpets upstairs"),
    ("Thai not Indian, we voted", "decision", "Thai not Indian"),
    ("we decided no pudding this year", "decision", "no pudding"),
    ("agreed at the board meeting: a four-day week", "decision", "four-day week"),
    ("rehire the night guard, approved by the trustees", "decision", "rehire the night guard"),
    ("the allotment club settled on Tuesdays", "decision", "Tuesdays"),
    ("pass my grade 5 by June", "goal", "pass my grade 5"),
    ("my ambition is to paint every bridge in York", "goal", "paint every bridge"),
    ("swim the channel is the dream", "goal", "swim the channel"),
    ("I'm tryna get fit for the wedding", "goal", "get fit"),
    ("we'll convert the barn next spring", "plan", "convert the barn"),
    # what lies ahead, what happened, and what one has lived through
    ("gp thurs 9.20", "appointment", "gp"),
    ("monday's wake, then back to work", "appointment", "wake"),
    ("interview with Stripe next wed", "appointment", "interview with Stripe"),
    ("I have an exam on Friday, revision tips?", "appointment", "exam"),
    ("did a spin class yesterday", "event", "spin class"),
    ("me and Kev went fishing on sunday", "event", "went fishing"),
    ("granny died in march", "life_event", "granny died"),
    ("vet check tues 0930, bring the card", "appointment", "vet check"),
    ("fri 6pm curry with the lads", "appointment", "curry with the lads"),
    ("the choir tour planning is on the ninth at 8", "appointment", "choir tour planning"),
    ("got my knee op on the 22nd", "appointment", "knee op"),
    ("our niece was born on Friday", "life_event", "niece was born"),
    ("we lost my grandfather in march", "life_event", "lost my grandfather"),
    ("we had our wedding on the 6th of May", "life_event", "wedding"),
    ("we repainted the boathouse last Sunday", "event", "repainted the boathouse"),
    ("got my hip replaced in january", "event", "hip replaced"),
    ("once cooked for the king of Norway", "experience", "cooked for the king of Norway"),
    ("I failed the January exam", "event", "failed the January exam"),
    ("got made redundant in february", "event", "made redundant"),
    ("swam with dolphins once in Mexico", "experience", "swam with dolphins"),
    ("I walked the Camino in 2015", "experience", "walked the Camino"),
    ("back in '98, I drove a lorry to Bosnia", "experience", "drove a lorry to Bosnia"),
    ("my placement starts on monday at 7am", "appointment", "placement"),
    ("I'm seeing the GP on Thursday", "appointment", "GP"),
    ("Last weekend my friend Aisha and I went to a cheese fair", "event", "cheese fair"),
    ("ran my first marathon on Sunday", "event", "marathon"),
    ("we submitted the paper to eLife last week", "event", "paper"),
    ("I was made redundant in January", "event", "redundant"),
    ("I want to lose eight kilos", "goal", "lose eight kilos"),
    ("we're hoping to move to Spain next year", "plan", "move to Spain"),
    ("After long discussions we have decided to take the heat pump from Viessmann", "decision", "heat pump"),
    ("I have decided not to work with agencies any more", "decision", "not to work with agencies"),
    ("staging is in Mumbai", "located_in", "Mumbai"),
    ("deadline for Harbor is May 18 now", "attribute.deadline", "May 18"),
    # where one lives, works and studies, what one has, with the value first and nobody named
    ("CST here, keep that in mind", "timezone", "CST"),
    ("Lisbon time for me please", "timezone", "Lisbon time"),
    ("GMT-4, that's me", "timezone", "GMT-4"),
    ("17 Oak Avenue, that's home", "address", "17 Oak Avenue"),
    ("we moved, now Flat 2, 8 Mill Lane", "address", "Flat 2, 8 Mill Lane"),
    ("sam@example.net is my work one", "email", "sam@example.net"),
    ("ring me on 07700 900555, the landline's dead", "phone", "07700 900555"),
    ("no longer in Berlin, Leipzig since January", "home_city", "Leipzig"),
    ("living in Hull with the in-laws", "home_city", "Hull"),
    ("Bradford born and bred", "hometown", "Bradford"),
    ("truck driver, so I listen more than I read", "job", "truck driver"),
    ("I work at Bosch, process engineer", "job", "process engineer"),
    ("14 years a midwife", "job", "midwife"),
    ("Lidl, nights, shelf stacker", "employer", "Lidl"),
    ("did my undergrad at Waterloo", "school", "Waterloo"),
    ("Berklee, second year, jazz composition", "field_of_study", "jazz composition"),
    ("penicillin, write that somewhere safe please", "allergy", "penicillin"),
    ("tinnitus since my army days", "health", "tinnitus"),
    ("no dairy for me", "diet", "dairy"),
    ("I don't eat pork or shellfish", "diet", "shellfish"),
    ("a Volvo 240 in the garage", "possession", "Volvo 240"),
    ("swapped the Golf for a Leaf", "possession", "Leaf"),
    # who says something, and whom a clause names before
    ("my girlfriend kelsey says hi lol", "partner", "kelsey"),
    ("My labmate Yuting thinks reviewer 2 is unfair", "colleague", "Yuting"),
    ("My boss Omar told me it can wait", "colleague", "Omar"),
    ("I had lunch with Farid, he's my supervisor", "colleague", "Farid"),
    ("My wife tells me I ought to mention that I have atrial fibrillation", "health", "atrial fibrillation"),
    ("Hello, I study at the University of Leeds, the weather is like everybody said", "school", "University of Leeds"),
    # a laugh about something else, run-on speech, several at once
    ("My major is computational biology so please no wet lab advice haha", "field_of_study", "computational biology"),
    ("We have three kids, Ann, Bo and Cy.", "child", "Cy"),
    ("My boy Wyatt starts school in September", "child", "Wyatt"),
    ("I use Overleaf for writing and Zotero for the references", "uses", "Zotero"),
    ("I use Xero for nearly everything", "uses", "Xero"),
    ("My hobby these days is model steam engines", "hobby", "model steam engines"),
    ("I'm a stay at home dad of three", "job", "stay at home dad"),
    ("I recently qualified as a vet", "job", "vet"),
    ("I'm coeliac so I don't eat bread", "health", "coeliac"),
    ("I can't do gluten", "diet", "gluten"),
    ("As a young man I worked on the Humber Bridge", "experience", "Humber Bridge"),
    ("in my twenties I lived in Kyoto", "experience", "Kyoto"),
    ("came off the bike on tuesday", "event", "bike"),
    ("I've got an interview for the supervisor post tomorrow", "appointment", "interview for the supervisor post"),
    ("got a gig in Leeds tomorrow night", "appointment", "gig in Leeds"),
    ("Don't sugarcoat things.", "reply_style", "sugarcoat"),
    ("prod cluster is in eu-west-1 fyi", "located_in", "eu-west-1"),
    ("the staging db gets wiped every Sunday night", "fact", "gets wiped every Sunday night"),
    # tastes, with the thing first, compared, or in so many words
    ("spiders, can't stand them", "dislikes", "spiders"),
    ("speed cameras can get in the bin", "dislikes", "speed cameras"),
    ("can't abide loud chewers", "dislikes", "loud chewers"),
    ("aisle over window, every time", "prefers", "aisle"),
    ("Mac over Windows for me", "prefers", "Mac"),
    ("would rather read than watch telly", "prefers", "read"),
    ("my favourite season? autumn, obviously", "favorite.season", "autumn"),
    ("fave cheese: comté", "favorite.cheese", "comté"),
    ("Dune, my favourite book", "favorite.book", "Dune"),
    ("fav drink ginger beer", "favorite.drink", "ginger beer"),
    # pastimes, by their day or by what they do for one
    ("knitting keeps me sane", "hobby", "knitting"),
    ("my son Theo plays chess", "hobby", "chess"),
    # what one cannot have, and what it does
    ("I can't have cashews", "allergy", "cashews"),
    ("hazelnuts put me in A&E", "allergy", "hazelnuts"),
    ("I'm almond allergic", "allergy", "almond"),
    ("mustard, tell whoever does the sandwiches", "allergy", "mustard"),
    ("food allergies for the form: sesame, kiwi", "allergy", "kiwi"),
    ("halal, so please mind that for the dinner", "diet", "halal"),
    ("pescatarian at your service", "diet", "pescatarian"),
    # what one suffers from
    ("the nurse says it's gout", "health", "gout"),
    ("sciatica, left side, so no squats", "health", "sciatica"),
    ("dyslexia over here, mind the typos", "health", "dyslexia"),
    ("ramipril for the blood pressure", "uses", "ramipril"),
    ("meds: sertraline", "uses", "sertraline"),
    ("I wear contacts", "uses", "contacts"),
    # pastimes, tools and things by name
    ("it's all wild swimming for me now", "hobby", "wild swimming"),
    ("joined the local fencing club", "hobby", "fencing"),
    ("pottery, two wheels in the shed now", "hobby", "pottery"),
    ("it's all Todoist now", "uses", "Todoist"),
    ("been on Joplin since spring", "uses", "Joplin"),
    ("Duolingo every morning, without fail", "uses", "Duolingo"),
    ("car's a Skoda with dog hair in it", "possession", "Skoda"),
    ("my old Nikon still works, my Myford runs true", "possession", "Myford"),
    ("copped a Gibson, sunburst", "possession", "Gibson"),
    ("Lambretta, 1965, in the garage", "possession", "Lambretta"),
    # preferences
    ("aisle seat, always, long legs", "prefers", "aisle"),
    ("I'd much rather walk", "prefers", "walk"),
    ("favourite season's spring", "favorite.season", "spring"),
    ("Blur, favourite band since I was ten", "favorite.band", "Blur"),
    ("coriander, tastes of soap", "dislikes", "coriander"),
    # how to answer, and in what
    ("from here on metric only please", "reply_style", "metric"),
    ("from now on fix first, reasons after", "reply_style", "fix first"),
    ("explain everything like I'm five", "reply_style", "explain everything like I'm five"),
    ("quote sources, newest first, in all answers", "reply_style", "sources"),
    ("do all your replies in Danish from here on", "reply_language", "Danish"),
    # tools, by what they are for
    ("Todoist for tasks, a paper diary for meetings", "uses", "paper diary"),
    ("still do it all in Excel", "uses", "Excel"),
    ("moved the lot over to Fastmail", "uses", "Fastmail"),
    # how to answer, and in what
    ("Welsh please, in all your replies", "reply_language", "Welsh"),
    ("could you talk to me in Polish from now on", "reply_language", "Polish"),
    ("stick to Bahasa Indonesia for all our chats", "reply_language", "Bahasa Indonesia"),
    ("for dates I want British spelling only", "reply_style", "British spelling only"),
    ("from now on just give me the fix", "reply_style", "give me the fix"),
    ("don't start with a summary every time", "reply_style", "don't start with a summary"),
    ("new rule: code first", "reply_style", "code first"),
    ("I love ramen, spots near Leeds?", "likes", "ramen"),
    # how one is reached, and where
    ("mail for patches is ola@dev.example", "email", "ola@dev.example"),
    ("uni mail's o.lind@uni.example", "email", "o.lind@uni.example"),
    ("my number for urgent things is 0161 496 0000", "phone", "0161 496 0000"),
    ("ext 4421 reaches me on the ward", "phone", "ext 4421"),
    ("parcels to 4 Mill Lane please", "address", "4 Mill Lane"),
    ("new flat is Flat 3, Alder Court, by the canal", "address", "Flat 3, Alder Court"),
    ("Hawaii time, so mornings are your evenings", "timezone", "Hawaii time"),
    ("my clock's on ACST", "timezone", "ACST"),
    # towns: of oneself, and of others beside what they do
    ("my dad he lives in Łomża", "home_city", "Łomża"),
    ("my cousin in Accra sells shoes", "home_city", "Accra"),
    ("our Jess is a nurse up in Dundee", "home_city", "Dundee"),
    ("I was brought up in Whitby", "hometown", "Whitby"),
    # plain sentences: who one is, what has changed, what one does and when
    ("My name is Ilse Marek and I am Austrian.", "nationality", "Austrian"),
    ("I am majoring in botany at Uppsala University.", "school", "Uppsala University"),
    ("I am pursuing a master's in botany at Uppsala University.", "field_of_study", "botany"),
    ("I work there as a librarian.", "job", "librarian"),
    ("On weekends I enjoy woodcarving.", "hobby", "woodcarving"),
    ("I have been widowed since 2017.", "relationship_status", "widowed"),
    ("My parents are called Ottilie and Bruno.", "parent", "Bruno"),
    ("My new girlfriend is Mirjam.", "partner", "Mirjam"),
    ("Always reply in Danish and without emojis.", "reply_style", "without emojis"),
    ("I have seen the midnight sun once.", "experience", "midnight sun"),
    ("I have to call the plumber tomorrow.", "task", "call the plumber"),
    # tongues and skills, several and value first
    ("I only speak Polish and German", "language", "German"),
    ("Hausa and Yoruba I speak, some French", "language", "Yoruba"),
    ("tabla I can play, properly", "skill", "tabla"),
    # work and study, told in passing
    ("switched roles, now release manager", "job", "release manager"),
    ("Kenji, our chef, is off today", "job", "chef"),
    ("my granny was a seamstress", "job", "seamstress"),
    ("been a sparky for years, last two years at Dunmore Electrical", "employer", "Dunmore Electrical"),
    ("at Karolinska, sem 7, studying medicine", "school", "Karolinska"),
    # whole, plain sentences
    ("I would rather you call me Captain Ruiz.", "address_as", "Captain Ruiz"),
    ("I was born on August 3, 1961.", "birthday", "August 3, 1961"),
    ("I have a Swedish passport and a Chilean one.", "nationality", "Chilean"),
    ("We live on Canadian Atlantic Time.", "timezone", "Canadian Atlantic Time"),
    ("My wife and I have two children, Pia and Olof.", "child", "Olof"),
    ("I've decided to stop driving.", "decision", "stop driving"),
]


@pytest.mark.parametrize(("text", "key", "value"), SAID)
def test_the_same_is_understood_in_other_peoples_words(text: str, key: str, value: str) -> None:
    found = [(one.key, one.value) for one in read(text)]
    assert any(one == key and value.casefold() in (held or "").casefold() for one, held in found), found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # an attribute of a thing: before it, after it, as a label, in a list, value first
        ("Zephyr's budget is 12k", [("Zephyr", "attribute.budget", "12k")]),
        ("garage door code: 9921", [("garage door", "attribute.code", "9921")]),
        ("shop's rent went up to 1,400", [("shop", "attribute.rent", "1,400")]),

        ("5512 is Marek's extension", [("Marek", "attribute.extension", "5512")]),
        ("the 30k budget for Zephyr got cut again", [("Zephyr", "attribute.budget", "30k")]),


        ("the deadline for the grant moved from 1 May to 15 May", [("grant", "attribute.deadline", "15 May")]),
        ("The current version of Plover is 4.1.", [("Plover", "attribute.version", "4.1")]),
        ("Plover listens on port 7070", [("Plover", "attribute.port", "7070")]),
        ("The lead of Plover is now Ilse instead of Bruno.", [("Plover", "attribute.lead", "Ilse")]),

        ("The kiln has to be opened after every firing.", [("kiln", "fact", "has to be opened after every firing")]),
        # where it is

        ("spare keys are under the blue pot", [("spare keys", "located_in", "under the blue pot")]),
        ("the boat is moored in Falmouth", [("boat", "located_in", "Falmouth")]),

        ("the loom's in the attic, spare yarn on shelf 4",
         [("loom", "located_in", "attic"), ("spare yarn", "located_in", "shelf 4")]),
        ("our paper records are kept in the green cupboard", [("paper records", "located_in", "green cupboard")]),
        ("the first aid kit lives under the counter", [("first aid kit", "located_in", "under the counter")]),


        # a size, a number, an owner, a day, a limit of it
        ("my blood type's B positive", [("user", "attribute.blood type", "B positive")]),

        ("our anniversary's 3 May", [("user", "attribute.anniversary", "3 May")]),
        ("the kiln has a ramp of 150", [("kiln", "attribute.ramp", "150")]),
        ("our printer's nozzle is 0.4 mm", [("printer", "attribute.nozzle", "0.4 mm")]),
        ("Marguerite owns the roadmap now", [("roadmap", "attribute.owner", "Marguerite")]),

        ("recycling day is Thursday", [("recycling", "attribute.day", "Thursday")]),


        ("electricity's with Ostrom", [("electricity", "attribute.provider", "Ostrom")]),
        ("the pension starts 1 June", [("pension", "attribute.start", "1 June")]),

        # what it uses
        ("the gateway has Valkey instead of Redis", [("gateway", "uses", "Valkey")]),
        ("our test suite Vitest since May", [("test suite", "uses", "Vitest")]),

        ("api runs on Go, worker on Elixir", [("api", "uses", "Go"), ("worker", "uses", "Elixir")]),
        ("the crawler's written in Rust", [("crawler", "uses", "Rust")]),
        ("ci moved from travis to buildkite", [("ci", "uses", "buildkite")]),

        ("our message queue is NATS, alternatives?", [("message queue", "uses", "NATS")]),
        # two things in one sentence: the second leaves out of what, or calls it "its"
        ("The parser is written in Rust and runs on port 7070.",
         [("parser", "uses", "Rust"), ("parser", "attribute.port", "7070")]),
        ("Our invoice service depends on Kafka and is hosted in Madrid.",
         [("invoice service", "uses", "Kafka"), ("invoice service", "located_in", "Madrid")]),
        ("Our search cluster in Lyon runs on version 8.2.",
         [("search cluster", "located_in", "Lyon"), ("search cluster", "attribute.version", "8.2")]),
        ("The owner of the wiki is Femi, and its deadline is July 1.",
         [("wiki", "attribute.owner", "Femi"), ("wiki", "attribute.deadline", "July 1")]),



        ("Our archive is stored in Turin, with a retention of 30 days.",
         [("archive", "located_in", "Turin"), ("archive", "attribute.retention", "30 days")]),

        ("Our deadline for the audit is June 3.", [("audit", "attribute.deadline", "June 3")]),
        ("The server is down and needs a restart.", []),
        ("The novel is set in Paris and its hero is a thief.", []),
        # what is to be done, or was, and what more
        ("I need to rotate the tokens and to brief Femi.",
         [("user", "task", "rotate the tokens"), ("user", "task", "brief Femi")]),
        ("We agreed to freeze the release and to cancel Tuesday's demo.",
         [("user", "decision", "freeze the release"), ("user", "decision", "cancel Tuesday's demo")]),
        ("Remind me to send the quote on Monday and call the printer on Tuesday.",
         [("user", "reminder", "send the quote"), ("user", "reminder", "call the printer")]),
        ("My goal is to get promoted and to learn Finnish.",
         [("user", "goal", "get promoted"), ("user", "goal", "learn Finnish")]),

        # people at work



        # what holds of it

        ("the kiln needs 3 hours to cool", [("kiln", "fact", "needs 3 hours to cool")]),
        ("the scanner at work jams on thick card", [("scanner", "fact", "jams on thick card")]),
        ("lift takes six people", [("lift", "fact", "takes six people")]),
        ("the hall has no parking", [("hall", "fact", "has no parking")]),
        ("just so you know the sensor API returns kelvin", [("sensor API", "fact", "returns kelvin")]),
        # whole, plain sentences

        ("The sewing kit is in the hall cupboard.", [("sewing kit", "located_in", "hall cupboard")]),


        ("Our cabin has no running water.", [("cabin", "fact", "has no running water")]),
    ],
)  # fmt: skip
def test_what_holds_of_things_is_told_in_many_ways(text: str, expected: list[tuple[str, str, str]]) -> None:
    assert [(one.subject, one.key, one.value) for one in read(text)] == expected


@pytest.mark.parametrize(
    ("text", "subject", "key", "value"),
    [
        ("my sister Ruta is a vet down in Kaunas", "Ruta", "home_city", "Kaunas"),
        ("my mum she's seventy one and still skis", "mum", "age", "seventy one"),
        ("Pia, six, has asthma", "Pia", "age", "six"),
        ("Pia, six, has asthma", "Pia", "health", "asthma"),
        ("Goran can't have sesame, he swells up", "Goran", "allergy", "sesame"),
        ("my son in law is a roofer", "son-in-law", "job", "roofer"),
        ("my dad Istvan was a watchmaker", "Istvan", "job", "watchmaker"),
        ("Aunt Vesna's in Split, has a parrot called Mango", "Aunt Vesna", "pet", "Mango"),
        ("our daughter Mirte has just started at Leiden University", "Mirte", "school", "Leiden University"),
        ("my boss is Ines, her number is 0161 496 0777", "Ines", "phone", "0161 496 0777"),
        ("my nephew turns 12 on 3 October", "nephew", "birthday", "3 October"),
        ("our band is called Wet Socks", "band", "name", "Wet Socks"),
        ("my fiance is called Aldo and his mum Bruna cooks", "Aldo", "parent", "Bruna"),
        ("tamara's in Perth now", "Tamara", "home_city", "Perth"),
        ("glaucoma, Aunt Ilse, both eyes", "Aunt Ilse", "health", "glaucoma"),
        ("Kenyan, Otieno, arrived in May", "Otieno", "nationality", "Kenyan"),
        ("woman, Sanna, always has been", "Sanna", "gender", "woman"),

        ("our CISO Marek wants it by noon", "user", "colleague", "Marek"),

        ("the doctor's got me on ramipril", "user", "uses", "ramipril"),


        ("Anna left Acme and joined Globex", "Anna", "employer", "Globex"),
        ("My sister left Acme and joined Globex.", "sister", "employer", "Globex"),
        ("I left Acme and joined Globex", "user", "employer", "Globex"),
        ("Left Acme. Joined Globex", "user", "employer", "Globex"),
    ],
)  # fmt: skip
def test_others_are_told_of_in_few_words(text: str, subject: str, key: str, value: str) -> None:
    found = [(one.subject.lower(), one.key, (one.value or "").lower()) for one in read(text)]
    assert (subject.lower(), key, value.lower()) in found


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("Yvette left the team, ask Bo", "colleague", "Yvette"),
        ("Pasha and I have parted ways", "partner", "Pasha"),
        ("Gunnar and I no longer speak", "friend", "Gunnar"),
    ],
)
def test_people_and_pets_go(text: str, key: str, value: str) -> None:
    assert [(one.key, one.value) for one in read(text) if one.act == "retract"] == [(key, value)]


@pytest.mark.parametrize(
    ("text", "key", "value"),
    [
        ("the wedding on the 20th is off", "appointment", "wedding"),
        ("the multi-cloud decision is off the table", "decision", "multi-cloud"),
        ("the backend doesn't use Redis any more", "uses", "Redis"),
        ("Oh and I'm not vegan any more, so you can stop with the tofu haha", "diet", "vegan"),
        ("by the way I am not a surveyor any more you can drop that", "job", "surveyor"),
        ("got laid off from Meta after 11 years", "employer", "Meta"),
        ("keto lasted nine days", "diet", "keto"),
        ("the tennis elbow is gone", "health", "tennis elbow"),
        ("packed in golf, knees are shot", "hobby", "golf"),
        ("no more Instagram for me", "uses", "Instagram"),
        ("been off cigarettes since march", "uses", "cigarettes"),
        ("the vegan thing is done, chorizo won", "diet", "vegan"),
    ],
)
def test_what_no_longer_holds_is_taken_back_in_other_words(text: str, key: str, value: str) -> None:
    [one] = read(text)
    assert (one.key, one.value, one.act) == (key, value, "retract")


@pytest.mark.parametrize(
    "text",
    [
        # what ended, but was no task; what came before a decision, and a time that is no appointment
        "pudding done, telly on", "four coffees in and still asleep", "the canteen was closed again",
        "the bakery called", "I called Ana", "First run of the sample: the overpotential is 312 mV",
        "handed in my badge this morning", "wrote the riff together with Olle", "my heels are done, carry me home",
        "I said no he was wrong", "long evening, agreed", "the pond it is marvellous",
        "have you seen better roofs on a tent",
        "we both have been up since four", "I spoke to the landlord on Monday", "remind me Sundays",
        "you remind me of an old radio",
        # questions, and what is asked of the assistant
        "do you sell shoes", "does the store close on Mondays?", "what are symptoms of diabetes",
        "write an email to my boss Anna saying I'm sick", "give me three options", "put it in a table",
        "explain asthma like I am five",
        # passing states and places
        "I'm staying in tonight", "I'm staying in a hotel in Rome this week", "been in a meeting all morning",
        "I was at home today", "I'm off today", "I'm on it", "I'm on a call", "I'm at level 5 of the game",
        "I'm dealing with a bug", "I'm struggling with this exercise", "I can't eat another bite",
        "my son is asleep", "my cat is hungry", "my wife is calling", "my boss is annoying", "my mom called",
        # what lies down, comes to nothing, or is nobody's to do
        "I need to lie down", "we decided nothing again", "can you give me five nasty questions", "we said yes",
        "woke up sunday 5am", "tell me what happened on the 3rd", "nothing to report today", "log: tue ok, wed ok",
        "open plan is killing me", "the claim closes in 30 days", "the wifi is dead", "gran is off to bed",
        "my plan is off", "Tuesday, wednesday and friday 5pm", "I'd move to Oslo, if I got the job",
        # what one does with the assistant is no event
        "I tried your code yesterday", "I closed the tab yesterday", "I saw it yesterday", "I broke the build today",
        # wishes, plans of the moment, sayings
        "I'm hoping to get an answer", "I want to learn how this works", "I'm not going to lie", "never give up",
        # orders to the assistant, talk of nothing to do, and what was tried at the keyboard
            "remind me how recursion works", "book me a table for two on friday", "take the derivative of x squared",
            "order by date desc by friday", "wherever it is", "that's just how it is", "lunch is on me",
            "restarted the router once already", "tried it once, didn't work", "the aim of the exercise is to find x",
            "meeting ran over on friday, talk tomorrow", "running late today", "had my brother known, he'd have come",
            "I live for the drama", "I'd sooner die", "hate to bother you", "love is love", "I suffer from Mondays",
        # talk of nobody, and of things
        "some guy called Mike", "she's a lawyer", "their daughter is 5", "the author lives in Maine",
        "Python uses indentation", "the value is at index 3", "the button is on the right", "Rome is home to many cats",
        "I'm a regular at Joe's", "I'm a bit of a mess by trade", "sure, and I'm the Pope", "Frosty here again",
        "the joke is on me", "driving me nuts today", "I collect my thoughts", "Enjoy yourself",
        # the words of a life that is nobody's here
        "engineer salary in Berlin", "nurse or teacher, which pays more", "asthma, is it hereditary",
        "peanuts, tell me if they are legumes", "patients who can't have penicillin get what",
        "word for when nobody agrees", "sales were down because of migraine season", "sudoku, but make it harder",
        "vegan restaurants in Leeds, please",
        "explain this function like I'm five", "in metric please, for this one table", "rent is a crime",
        "my favourite band's new album is out",
        "no dairy in this recipe please", "Google let people go again", "a vegan restaurant in Porto please",
        "deliver to the office, 9 King Street", "French at A2 level exercises please", "driver is broken",
        "mains a druid, lives in a swamp, allergic to cheese", "Amazon fired half the team", "learning curve",
        "email bob@example.com about the invoice", "bob@example.com is my boss", "from London to Leeds by train",
        "set up a dummy profile: Jane Roe, 41, accountant, lives in Ohio", "back in Python we had generators",
        "inherited the codebase from Bob", "mine is a mess", "left Dave for good", "moved to tears by that film",
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
        # names of no people, and ages of no people
        "Coffee at work is terrible", "Monday is fine", "hey, it's Friday", "French, please", "the kids are Swiss",
        "Cousin Vinny is a great film", "give me dog pictures", "send it to me mate", "Windows, 11", "Flat, 3",
        "the dial turns 90", "Morning Anna, can you help", "Tom and I split the bill", "our kids are Year 5 and Year 7",
        "write an email to my landlord's wife", "chapter, four", "id,name\n1,Bea,Turin\n2,Luc,Nantes",
        "character sheet: Mara, 34, nurse, lives in Oban", "Skalitzer Str. 44, top bell", "he left me a note",
        "Platform, 11", "the 3rd is fine for me", "the girl is a star",
        "two truths and a lie: I'm married, I'm Dutch", "a dummy profile for tests: Jane, 41, married, lives in Ohio",
        "turn this into a rhyme: Grandpa lives in Devon", "my mum called me Sunday", "hello to all the team",
        # of things: the world's, somebody else's, passing, supposed, asked
        "the best colour for a kitchen is green", "their backend is all Go", "the printer is down",
        "say the budget is 40k, what's the tax", "React is the best of all frameworks", "error code is 404",
        "anyone know who the lead of Zephyr is", "whos the owner of zephyr-api", "our standup is at 9:15",
        "the bank charges too much", "more tea = more bugs",
        # drafts, characters, inverted speech, and what holds for one answer
        "Shorten: I work as a welder in Graz", "tagline for my bakery: We live for bread",
        "I live by the sea, said the ghost", "bro was like I'm allergic to mornings", "call me a taxi",
        "its for a play, the nurse hates her job", "mains a druid, allergic to cheese",
        "set up a dummy profile: married, lives in Ohio", "cover letter: Dear Ms Roth, I am a chemist",
        "Speak to me like a pirate for the next answer only", "guy at the bar, lives in Hull, allergic to olives",
        "the cluster is in hel1, nope scratch that, forget it",
        # handed over, somebody else's, for this once, irony, and places of no thing
        "to french, please: I live in Hull", "cut 50 words from this: I work as a vet in Leeds",
        "persona for the deck: Ines, 41, baker, lives in Bari", "my oc lives in a bog and works as a witch",
        "I love Mondays, said every boss ever", "I'd rather eat my hat than go vegan", "vegan for a dare",
        "for this mail only, answer in Greek", "don't save it: I live at 5 Elm Street", "the midwife lives in Hull",
        "my piano teacher is in Lima", "wish: own a windmill", "our niece is at Yale... kidding, she's at home",
        "i told him I'm 25", "the printer is in a mood", "we are four in the car", "must I renew the pass",
        # numbers, places, hours and trades that are nobody's here
        "my order number is 123 456 7890", "forward the report to jane.roe@acme.example", "PST is annoying",
        "convert 9am PST to IST", "My sister is in Paris this week", "Priya is in Denial about it", "I can do Thursday",
        "I met my wife in Prague", "my friend in Need is a friend indeed", "I go to Oxford every summer",
        "Arsenal let me down", "as a doctor you should know", "French and Italian food", "weird, I know",
        "user story: as a nurse I want to see my rota", "I've been in bed since Monday", "meet at 12 Elm Street",
        # the words of others, and people who are invented
        "there's a poster by the lift, I hate stairs but I love cake", "slogan from the agency verbatim: we love rust",
        "for the screenplay: Ivo lives in Turin and works as a diver", "the character I'm writing has a cat named Pip",
        "per the persona sheet she's fifty, widowed, drives a Volvo", "fix it: Carl lives in Bern and loves trams",
        "picture this, you're a pirate, you live in Genoa and work in a bank", "we need a flatmate who hates techno",
        # words that are no value
        "I prefer option three", "be honest", "she plays badminton vs squash", "I'm a big girl", "curling vs bowls",
        "I'm married to my allotment", "most offices use Excel", "Haydn was born on 31 March 1732",
        "joined the ringing lot up at the chapel", "broke up with the drummer", "I can't do it, good luck baker",
    ],
)  # fmt: skip
def test_what_only_looks_so_is_not_taken(text: str) -> None:
    assert [one for one in read(text) if not one.done] == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("nina@corp.example for Nina", ("Nina", "email", "nina@corp.example")),
        ("mum's number changed, it's 01632 960 771", None),
        ("surgery number: 0161 496 0000", ("surgery", "phone", "0161 496 0000")),
        ("Mountain time is what my brother keeps", ("brother", "timezone", "Mountain time")),
    ],
)
def test_what_is_of_others_is_not_the_speakers(text: str, expected: tuple[str, str, str] | None) -> None:
    found = [(one.subject, one.key, one.value) for one in read(text) if one.key not in {"child", "parent"}]
    assert found == ([expected] if expected else [])


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
