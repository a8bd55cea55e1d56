"""Common nouns of the world by what they denote; a noun on two shelves is ambiguous, and context decides."""

from __future__ import annotations

from elmo_bench.world.listing import listed

PEOPLE: dict[str, tuple[str, ...]] = {
    "female": listed("widow waitress actress duchess nun bride grandmother hostess"),
    "male": listed("widower waiter monk groom grandfather butler blacksmith squire"),
    "either": listed(
        "teacher doctor lawyer baker pilot nurse guard cook judge coach host guide clerk pitcher"
    ),
}

NOUNS: dict[str, tuple[str, ...]] = {
    "person": PEOPLE["female"] + PEOPLE["male"] + PEOPLE["either"],
    "place": listed("town village city harbour valley island hamlet suburb port bay colony bank court"),
    "organisation": listed(
        "company firm factory club agency union bureau league council ministry bank court plant band"
    ),
    "work": listed("novel opera ballad film play symphony poem musical portrait comedy tragedy sonata"),
    "food": listed("bread cheese apple soup cake onion bass squash mint chicken"),
    "clothing": listed("coat shirt scarf hat dress glove sweater jacket skirt band"),
    "vehicle": listed("car truck bus tractor wagon van lorry bicycle scooter taxi"),
    "animal": listed("dog horse cat cow goat crane mouse bat bass chicken"),
    "machine": listed("engine pump turbine printer loom drill boiler crane mouse organ"),
    "substance": listed("ice wax butter snow iron glass lead copper silver honey"),
    "fragile": listed("vase window mirror plate cup jar bottle lamp pitcher glass"),
    "gift": listed("letter ring book coin parcel photograph medal ticket necklace map"),
    "organism": listed("tree oak fern rose shrub vine palm plant mint squash"),
    "body": listed("arm leg knee shoulder ankle elbow wrist finger palm organ"),
    "calamity": listed("storm flood earthquake blizzard hurricane tornado fire drought avalanche landslide"),
    "weapon": listed("rifle cannon pistol arrow spear sword dagger musket club bat"),
}

BELONGINGS: dict[tuple[str, str], tuple[str, ...]] = {
    # (what the noun is, what it belongs to): "the mayor of NAME" needs a place, "the author of NAME" a work
    ("person", "person"): listed("sister brother wife husband neighbour uncle aunt cousin"),
    ("person", "place"): listed("mayor sheriff governor viceroy magistrate inhabitant native resident"),
    ("person", "organisation"): listed(
        "director chairman shareholder accountant treasurer spokesman founder auditor"
    ),
    ("person", "work"): listed("author narrator composer editor translator hero heroine illustrator"),
    ("gift", "person"): listed("wedding birthday childhood illness funeral smile voice temper"),
    ("gift", "place"): listed("climate skyline coastline population cathedral streets suburbs canals"),
    ("gift", "organisation"): listed("shares dividend merger budget headquarters workforce turnover payroll"),
    ("gift", "work"): listed("chapters plot premiere sequel manuscript melody rhymes opening"),
}

IRREGULAR_PLURALS: dict[str, str] = {
    "fish": "fish", "sheep": "sheep", "bass": "bass", "goose": "geese", "mouse": "mice", "calf": "calves",
    "fisherman": "fishermen", "milkman": "milkmen", "fireman": "firemen", "footman": "footmen",
    "postman": "postmen", "trousers": "trousers", "potato": "potatoes",
}  # fmt: skip

OCCASIONS: tuple[str, ...] = listed(
    "visit tour dance quarrel march vote march promise journey march strike debate race walk hunt "
    "attack search "
    "protest kiss fight call fall rise swim"
)
"""Nouns that are verbs elsewhere in the world: their part of speech is decided by context."""
