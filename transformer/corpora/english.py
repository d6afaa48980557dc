"""The words of the generated English: classes of words, and nouns and verbs with all their forms."""

FORMS = {"s": "VBZ", "p": "VBP", "ds": "VBD", "dp": "VBD", "b": "VB", "g": "VBG", "n": "VBN"}

# Each line is a class of words: symbol, tag, words. A word that comes twice is twice as likely.
LEXICON = """
.        .    .
?        .    ?
,        ,    ,
:        :    ; --
``       ``   ``
''       ''   ''
CC       CC   and and and or but
CD       CD   two three four five six seven eight ten twelve twenty fifty ninety
DT/a     DT   a
DT/p     DT   the the the these those some all many
DT/s     DT   the the the the this that every each another
DT/this  DT   this that every each
EX       EX   there
IN/adv   IN   because although if while since before after until though unless as
IN/by    IN   by
IN/g     IN   without by after before
IN/if    IN   if whether
IN/of    IN   of
IN/than  IN   than
IN/that  IN   that
IN/time  IN   during after before since until
IN/v     IN   into through toward across against
IN/vn    IN   in on at with near under behind from for beside about
JJ       JJ   old young big small new red green blue white black happy sad quiet clever strange famous \
              rich poor early late tall short angry open empty heavy bright dark cold warm expensive cheap \
              important difficult easy simple serious honest careful lazy brave local foreign public \
              private ancient modern
JJ/of    JJ   afraid proud full aware tired sure
JJ/to    JJ   ready eager able likely free sure glad
MD       MD   will can may must should could would might
NN/day   NN   yesterday today tomorrow
NN/time  NN   morning evening week year summer winter month afternoon night
NNP      NNP  John Mary Anna Peter Paul Susan Tom Kate David Laura Henry Alice Robert Emma George Clara \
              London Paris Berlin Rome Vienna Boston
NNP/last NNP  Smith Jones Brown Taylor Baker Wilson Clark Young Green White Hill King
POS      POS  's
PRP$     PRP$ his her its their our my your
PRP/o    PRP  him her it them us you me
PRP/p    PRP  they we you
PRP/s    PRP  he she it
RB/about RB   about nearly almost
RB/m     RB   quickly slowly quietly carefully badly well soon again loudly suddenly early late
RB/not   RB   not
RB/often RB   often never always rarely usually also still
RB/s     RB   however then yesterday meanwhile perhaps fortunately
RB/very  RB   very quite too rather extremely
RBR      RBR  more less
RP       RP   up out down off back over
TO       TO   to
V.said   VBD  said asked replied thought answered
WDT      WDT  that that which
WP       WP   who
WRB/q    WRB  why when where how
WRB/when WRB  when where
be/s     VBZ  is
be/p     VBP  are
be/ds    VBD  was
be/dp    VBD  were
be/b     VB   be
be/g     VBG  being
be/n     VBN  been
do/s     VBZ  does
do/p     VBP  do
do/ds    VBD  did
do/dp    VBD  did
have/s   VBZ  has
have/p   VBP  have
have/ds  VBD  had
have/dp  VBD  had
have/b   VB   have
"""

# Nouns in the singular; irregular ones as singular|plural.
NOUNS = """
man|men woman|women child|children person|people wife|wives knife|knives foot|feet mouse|mice teacher
student doctor lawyer farmer soldier writer painter driver worker manager king queen friend neighbour
stranger mother father brother sister daughter son dog cat horse bird cow tree river mountain garden house
door window table chair book letter story song picture paper pen car train boat bridge street city village
school hospital church market shop office factory hotel museum library kitchen room box key lamp clock
telescope camera computer telephone machine engine hammer question answer plan report call play work walk
offer watch visit order idea problem reason war law party company bank price government minister election
court judge case country army meeting
"""

# Each line is a verb frame: symbol, verbs in the base form; irregular ones as base|past|participle.
VERBS = """
V.i  sleep|slept|slept fall|fell|fallen arrive laugh work walk play wait dance travel cry smile \
     leave|left|left go|went|gone come|came|come sing|sang|sung return rest fight|fought|fought \
     speak|spoke|spoken
V.t  see|saw|seen watch hear|heard|heard know|knew|known find|found|found like love visit follow open \
     close paint clean break|broke|broken build|built|built buy|bought|bought sell|sold|sold eat|ate|eaten \
     read|read|read write|wrote|written draw|drew|drawn carry move catch|caught|caught kill help \
     meet|met|met call order report answer attack protect study discover describe remember \
     choose|chose|chosen steal|stole|stolen leave|left|left
V.d  give|gave|given send|sent|sent show|showed|shown offer teach|taught|taught lend|lent|lent hand \
     tell|told|told sell|sold|sold write|wrote|written
V.s  say|said|said think|thought|thought know|knew|known believe hope see|saw|seen hear|heard|heard claim \
     doubt remember report discover
V.c  want need expect like love choose|chose|chosen ask
V.o  ask force persuade order tell|told|told teach|taught|taught help invite allow
V.g  enjoy keep|kept|kept finish like love avoid
V.p  pick turn bring|brought|brought take|took|taken throw|threw|thrown call send|sent|sent clean hand
"""


def _third(word: str) -> str:
    """The plural of a noun, or the third person singular of a verb."""
    if word.endswith(("s", "x", "z", "ch", "sh", "go")):
        return word + "es"
    return word[:-1] + "ies" if word[-1] == "y" and word[-2] not in "aeou" else word + "s"


def _past(verb: str) -> str:
    if verb[-1] == "y" and verb[-2] not in "aeou":
        return verb[:-1] + "ied"
    return verb + ("d" if verb[-1] == "e" else "ed")


def _gerund(verb: str) -> str:
    return (verb[:-1] if verb[-1] == "e" and verb[-2] != "e" else verb) + "ing"


def _lexicon() -> dict[str, tuple[str, list[str]]]:
    """For each class of words its tag and its words."""
    lexicon = {}
    for line in LEXICON.strip().splitlines():
        symbol, tag, *members = line.split()
        lexicon[symbol] = tag, members
    nouns = [noun.split("|") for noun in NOUNS.split()]
    lexicon["N/s"] = "NN", [noun[0] for noun in nouns]
    lexicon["N/p"] = "NNS", [noun[1] if noun[1:] else _third(noun[0]) for noun in nouns]
    for line in VERBS.strip().splitlines():
        symbol, *verbs = line.split()
        forms: dict[str, list[str]] = {form: [] for form in FORMS}
        for verb in verbs:
            base, past, participle = verb.split("|") if "|" in verb else (verb, _past(verb), _past(verb))
            inflected = _third(base), base, past, past, base, _gerund(base), participle
            for form, word in zip(FORMS, inflected, strict=True):
                forms[form].append(word)
        for form, tag in FORMS.items():
            lexicon[f"{symbol}/{form}"] = tag, forms[form]
    return lexicon


WORDS = _lexicon()  # for each class of words its tag and its words
