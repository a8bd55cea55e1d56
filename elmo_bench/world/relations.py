"""What can happen in the world: a relation's verbs are exchangeable, a verb in two relations is ambiguous."""

from __future__ import annotations

from dataclasses import dataclass

from elmo_bench.world.listing import listed

Roles = tuple[str, ...]


@dataclass(frozen=True)
class Relation:
    """Who does what to what: kinds of the participants, the verbs that say it, and how such events go on."""

    name: str
    subject: str
    object: str  # "" where there is none
    preposition: str  # "" for a direct object
    verbs: tuple[str, ...]  # base[/past/participle]; a final + doubles the consonant
    tails: tuple[str, ...]  # how it went on
    roles: Roles = ("ARG0", "ARG1")
    recipient: str = ""  # kind of a third participant
    inchoative: bool = False  # the object may be the subject of the same verb: "the ice melted"
    tail_role: str = "ARGM-MNR"


def _relation(name: str, frame: str, verbs: str, tails: str, **more: object) -> Relation:
    """A row of the table; `frame` reads "subject > object" or "subject > preposition object"."""
    subject, _, rest = frame.partition(" > ")
    preposition, _, target = rest.rpartition(" ")
    phrases = tuple(tail.strip() for tail in tails.split("|"))
    return Relation(name, subject, target, preposition, tuple(verbs.split()), phrases, **more)  # type: ignore[arg-type]


RELATIONS: tuple[Relation, ...] = (
    _relation(
        "comfort", "person > person",
        "greet hug+ embrace welcome comfort thank",
        "with a smile | at the party | with great warmth | with open arms",
    ),
    _relation(
        "insult", "person > person",
        "insult scold slap+ threaten mock tease",
        "in a rage | after the quarrel | without any reason | out of spite",
    ),
    _relation(
        "dine", "person > with person",
        "dine dance chat+ flirt joke picnic/picnicked/picnicked",
        "until midnight | over tea | by candlelight | at the ball",
    ),
    _relation(
        "shout", "person > at person",
        "shout stare smile glare yell frown",
        "across the room | from the doorway | in silence | over the fence",
    ),
    _relation(
        "confide", "person > to person",
        "whisper talk apologise confide confess wave",
        "in a low voice | with tears | at last | on the stairs",
    ),
    _relation(
        "wait", "person > for person",
        "wait cook care cry pray knit+",
        "all night | by the fire | with patience | at home",
    ),
    _relation(
        "hide", "person > from person",
        "hide/hid/hidden borrow inherit recoil flinch shrink/shrank/shrunk",
        "as a child | behind the curtain | in shame | in secret",
    ),
    _relation(
        "hire", "organisation > person",
        "hire employ recruit engage appoint enlist",
        "as a clerk | on a good salary | for the new office | as an adviser",
    ),
    _relation(
        "dismiss", "organisation > person",
        "dismiss sack suspend expel+ demote fire",
        "without notice | over the scandal | after the inquiry | for fraud",
    ),
    _relation(
        "found", "person > organisation",
        "found establish launch create register manage",
        "with borrowed money | with two partners | from a small room",
    ),
    _relation(
        "serve", "person > for organisation",
        "work volunteer campaign lobby canvass intern",
        "without pay | on a contract | in the sales department | part time",
    ),
    _relation(
        "resign", "person > from organisation",
        "resign retire withdraw/withdrew/withdrawn graduate defect embezzle",
        "in protest | with a pension | after ten years | before the vote",
    ),
    _relation(
        "study", "person > at organisation",
        "study teach/taught/taught enrol+ lecture train trade",
        "for a degree | in the evening | under a pseudonym | for two terms",
    ),
    _relation(
        "acquire", "organisation > organisation",
        "acquire absorb outbid/outbid/outbid swallow finance buy/bought/bought",
        "for ten million | after long talks | with a loan | in a hostile bid",
    ),
    _relation(
        "sue", "organisation > organisation",
        "sue prosecute fine audit investigate accuse",
        "over the patent | in court | for damages | under the new law",
    ),
    _relation(
        "merge", "organisation > with organisation",
        "merge compete negotiate trade cooperate bargain",
        "on equal terms | in the same market | for a licence | on prices",
    ),
    _relation(
        "prosper", "organisation > ",
        "expand prosper restructure diversify overspend/overspent/overspent profit",
        "on the stock market | in the third quarter | after the tax cuts | with heavy debts",
        roles=("ARG1",),
    ),
    _relation(
        "visit", "person > place",
        "visit tour explore roam reach wander",
        "by train | on foot | with a guidebook | on a holiday",
    ),
    _relation(
        "travel", "person > to place",
        "travel+ drive/drove/driven fly/flew/flown sail walk ride/rode/ridden",
        "by night | through the rain | along the highway | on a steamer",
    ),
    _relation(
        "head", "person > for place",
        "head depart embark gallop steer race",
        "at dawn | before sunrise | with a caravan | along the old road",
    ),
    _relation(
        "flee", "person > from place",
        "flee/fled/fled escape migrate return sail drift",
        "across the border | over the mountains | in a boat | down the river",
    ),
    _relation(
        "land", "person > at place",
        "land dock moor anchor picnic/picnicked/picnicked halt",
        "in thick fog | for supplies | under the stars | at low tide",
    ),
    _relation(
        "dwell", "person > in place",
        "live settle dwell/dwelt/dwelt reside retire shelter",
        "near the church | in a cottage | by the sea | under a thatched roof",
        tail_role="ARGM-LOC",
    ),
    _relation(
        "border", "place > place",
        "border overlook adjoin flank surround neighbour",
        "along the river | to/IN the north | across the strait | beyond the dunes",
        roles=("ARG1", "ARG2"), tail_role="ARGM-LOC",
    ),
    _relation(
        "lie", "place > ",
        "lie/lay/lain nestle stretch sprawl slope slumber",
        "on the coast | between two hills | at the foot of the mountain | below the cliffs | "
        "beside the lake",
        roles=("ARG1",), tail_role="ARGM-LOC",
    ),
    _relation(
        "destroy", "calamity > place",
        "flood destroy devastate batter bury cover",
        "for three days | without warning | in the spring | overnight",
    ),
    _relation(
        "develop", "organisation > place",
        "develop rebuild/rebuilt/rebuilt electrify pave modernise pollute",
        "with public funds | under a decree | against local protest | on schedule",
    ),
    _relation(
        "compose", "person > work",
        "compose publish translate illustrate edit draft",
        "in exile | within a month | under a pen name | in three volumes",
    ),
    _relation(
        "recite", "person > work",
        "recite perform memorise quote rehearse watch",
        "on stage | by heart | before a full house | to/IN the last line",
    ),
    _relation(
        "premiere", "work > ",
        "premiere flop+ debut open enchant sell/sold/sold",
        "in paperback | to/IN mixed reviews | on television | in ten languages",
        roles=("ARG1",),
    ),
    _relation(
        "eat", "person > food",
        "eat/ate/eaten devour chew swallow fry bake",
        "for breakfast | with salt | in the kitchen | with relish",
    ),
    _relation(
        "wear", "person > clothing",
        "wear/wore/worn sew mend iron fold knit+",
        "with a needle | for the wedding | in winter | with silk thread",
    ),
    _relation(
        "manufacture", "organisation > machine",
        "manufacture export import assemble market distribute",
        "at low cost | for the army | in large numbers | under licence",
    ),
    _relation(
        "steer", "person > vehicle",
        "steer park tow overtake/overtook/overtaken brake drive/drove/driven",
        "in heavy traffic | round the corner | in the garage | at full speed",
    ),
    _relation(
        "groom", "person > animal",
        "groom feed/fed/fed ride/rode/ridden saddle tame shear",
        "in the stable | with hay | on the farm | with a brush",
    ),
    _relation(
        "gallop", "animal > ",
        "gallop trot+ graze bark neigh sniff",
        "in the pasture | behind the barn | on the straw | at the gate",
    ),
    _relation(
        "grow", "person > organism",
        "grow/grew/grown water prune transplant fertilise sow",
        "in the garden | in rich soil | with a spade | in the greenhouse",
    ),
    _relation(
        "injure", "person > body",
        "injure sprain bandage twist bruise fracture",
        "in a fall | at the gym | during the match | with an ointment",
    ),
    _relation(
        "brandish", "person > weapon",
        "brandish wield load aim sharpen fire",
        "at the enemy | in battle | in self-defence | from the trench",
    ),
    _relation(
        "give", "person > gift",
        "give/gave/given hand send/sent/sent lend/lent/lent offer sell/sold/sold",
        "for nothing | as a present | in an envelope | for good luck",
        roles=("ARG0", "ARG1", "ARG2"), recipient="person",
    ),
    _relation(
        "melt", "person > substance",
        "melt freeze/froze/frozen thaw boil burn harden",
        "in the pan | over a flame | in the cold | within an hour",
        inchoative=True,
    ),
    _relation(
        "break", "person > fragile",
        "break/broke/broken shatter crack smash splinter chip+",
        "on the floor | into pieces | with a loud noise | in two",
        inchoative=True,
    ),
    _relation(
        "sink", "person > vehicle",
        "sink/sank/sunk capsize overturn stop+ accelerate halt",
        "in the storm | on the slope | off the road | at the crossing",
        inchoative=True,
    ),
    _relation(
        "sleep", "person > ",
        "sleep/slept/slept nap+ doze snore slumber rest",
        "in bed | on the sofa | under a blanket | in a hammock",
    ),
    _relation(
        "run", "person > ",
        "run/ran/run sprint jog+ race dash gallop",
        "along the road | up the hill | round the track | across the field",
    ),
)  # fmt: skip

ANYBODY = Relation(
    "mention",
    "person",
    "any",
    "",
    listed(
        "mention describe remember forget/forgot/forgotten praise criticise discuss admire love dislike "
        "ignore miss"
    ),
    ("again", "at length", "in a letter", "on the radio"),
)
"""A relation that says nothing about its object: nobody can know what a name in it stands for."""
