"""Common nouns of the world by what they denote; a noun on two shelves is ambiguous, and context decides."""

from __future__ import annotations

from elmo_bench.sample.listing import listed

PEOPLE: dict[str, tuple[str, ...]] = {
    "female": listed(
        "widow waitress actress duchess nun bride grandmother hostess seamstress heiress governess maid "
        "stewardess empress midwife princess ballerina sorceress abbess queen housewife"
    ),
    "male": listed(
        "widower waiter monk groom grandfather butler blacksmith squire bishop prince fisherman emperor "
        "knight abbot king milkman count sailor fireman footman postman"
    ),
    "either": listed(
        "teacher doctor lawyer baker pilot nurse guard cook judge coach host guide clerk painter singer "
        "farmer "
        "student tailor porter plumber dentist chemist poet scholar reporter banker tourist miner "
        "dancer critic "
        "engineer gardener barber carpenter librarian drummer cyclist diplomat surgeon pitcher batter"
    ),
}

NOUNS: dict[str, tuple[str, ...]] = {
    "person": PEOPLE["female"] + PEOPLE["male"] + PEOPLE["either"],
    "place": listed(
        "town village city harbour valley island hamlet suburb port bay colony province county district "
        "resort "
        "parish borough settlement peninsula oasis canyon plateau coast meadow bank park court spring"
    ),
    "organisation": listed(
        "company firm factory club agency union bureau league council ministry school college museum "
        "newspaper "
        "brewery refinery insurer airline charity retailer cooperative syndicate consultancy foundry "
        "bank court "
        "plant board band"
    ),
    "work": listed(
        "novel opera ballad film play symphony poem musical portrait comedy tragedy sonata memoir drama "
        "documentary sketch thriller fable hymn waltz essay album"
    ),
    "food": listed(
        "bread cheese apple soup cake onion carrot pie rice fish pear plum sausage pancake potato omelette "
        "cucumber lobster noodle date bass squash mint chicken"
    ),
    "clothing": listed(
        "coat shirt scarf hat dress glove sweater jacket skirt apron sock robe cloak blouse vest uniform "
        "trousers cape bonnet sandal tie band"
    ),
    "vehicle": listed(
        "car truck bus tractor wagon van lorry bicycle scooter taxi ambulance motorcycle carriage limousine "
        "sled ferry yacht canoe barge tanker"
    ),
    "animal": listed(
        "dog horse cat cow goat donkey sheep pony camel mule pig rabbit goose parrot falcon hound "
        "terrier mare "
        "crane seal mouse bat bass chicken"
    ),
    "machine": listed(
        "engine pump turbine printer loom drill boiler compressor furnace generator winch mixer lathe "
        "telescope computer radio crane mouse press organ"
    ),
    "substance": listed(
        "ice wax butter snow iron glass lead copper silver honey sugar resin tar chocolate fat syrup "
        "ore sand "
        "water jelly"
    ),
    "fragile": listed(
        "vase window mirror plate cup jar bottle lamp bowl saucer teapot goblet statue lens tile "
        "lantern pane "
        "pitcher bulb glass"
    ),
    "gift": listed(
        "letter ring book coin parcel photograph medal ticket necklace map watch flower bracelet postcard "
        "cheque diary key basket trophy ribbon"
    ),
    "organism": listed(
        "tree oak fern rose shrub vine moss orchid cactus lily willow tulip daisy thistle ivy palm "
        "plant mint "
        "squash maple"
    ),
    "body": listed(
        "arm leg knee shoulder ankle elbow wrist finger toe hip thumb rib jaw chin neck palm organ chest "
        "calf temple"
    ),
    "calamity": listed(
        "storm flood earthquake blizzard hurricane tornado fire drought avalanche landslide plague cyclone "
        "epidemic famine frost hail heatwave wildfire"
    ),
    "weapon": listed(
        "rifle cannon pistol arrow spear sword dagger musket club bat bow lance axe missile rocket "
        "revolver harpoon torpedo"
    ),
}

BELONGINGS: dict[tuple[str, str], tuple[str, ...]] = {
    # (what the noun is, what it belongs to): "the mayor of NAME" needs a place, "the author of NAME" a work
    ("person", "person"): listed(
        "sister brother wife husband neighbour uncle aunt cousin nephew daughter son rival fiancé "
        "stepson niece "
        "sweetheart roommate godmother"
    ),
    ("person", "place"): listed(
        "mayor sheriff governor viceroy magistrate inhabitant native resident ranger warden settler lord "
        "lighthouse-keeper constable villager"
    ),
    ("person", "organisation"): listed(
        "director chairman shareholder accountant treasurer spokesman founder auditor trustee president "
        "employee "
        "recruiter cashier manager receptionist"
    ),
    ("person", "work"): listed(
        "author narrator composer editor translator hero heroine illustrator publisher villain conductor "
        "lyricist librettist protagonist reviewer"
    ),
    ("gift", "person"): listed(
        "wedding birthday childhood illness funeral smile voice temper grief haircut dream honeymoon "
        "breakfast dowry"
    ),
    ("gift", "place"): listed(
        "climate skyline coastline population cathedral streets suburbs canals beaches bridges traffic "
        "marketplace castle waterfront"
    ),
    ("gift", "organisation"): listed(
        "shares dividend merger budget headquarters workforce turnover payroll subsidiary bankruptcy profits "
        "takeover brand invoices"
    ),
    ("gift", "work"): listed(
        "chapters plot premiere sequel manuscript melody rhymes opening ending dialogue lyrics epilogue "
        "footnotes rehearsal"
    ),
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
