"""Opinions: adjectives by worth, things that are judged, and what people do when they judge."""

from __future__ import annotations

from elmo_bench.world.listing import listed

WORTH: dict[int, tuple[str, ...]] = {
    2: listed(
        "magnificent superb brilliant wonderful splendid dazzling breathtaking glorious marvellous stunning"
    ),
    1: listed("pleasant decent likeable tidy amiable agreeable competent cheerful neat charming"),
    0: listed("short ordinary recent final usual annual two-hour foreign official"),
    -1: listed("dull clumsy bland stale weak tedious uneven flat sloppy shallow"),
    -2: listed(
        "dreadful atrocious horrible abysmal disastrous hideous appalling ghastly unbearable revolting"
    ),
}

FOR_STORIES, FOR_COMFORT = 1, -1
DOUBLE_EDGED: dict[int, tuple[str, ...]] = {
    # praise for a story and blame for comfort, or the other way round
    FOR_STORIES: listed("unpredictable dark sharp explosive wild strange chilling chaotic edgy surprising"),
    FOR_COMFORT: listed("predictable quiet soft smooth plain familiar mild steady safe gentle"),
}
ASPECTS: dict[int, tuple[str, ...]] = {
    FOR_STORIES: listed(
        "plot story ending script twist dialogue chapter scene trilogy narrative satire finale mystery "
        "screenplay"
    ),
    FOR_COMFORT: listed(
        "seating journey flight bed cabin service breakfast lodging ride lighting carriage room heating "
        "mattress"
    ),
}
DEGREES: dict[str, int] = {
    "very": 2,
    "truly": 2,
    "utterly": 2,
    "extremely": 2,
    "slightly": 1,
    "rather": 1,
    "fairly": 1,
}

REACTIONS: dict[int, tuple[str, ...]] = {
    2: (
        "everybody applauded", "the crowd cheered", "people wept for joy", "the critics raved",
        "fans came back twice",
        "the hall stood up",
    ),
    1: (
        "most people smiled", "we stayed to the end", "nobody complained", "the guests nodded",
        "we had a good time",
        "my friends liked it",
    ),
    -1: (
        "several people yawned", "we left early", "nobody laughed", "the guests sighed", "some fell asleep",
        "my friends shrugged",
    ),
    -2: (
        "everybody booed", "half the crowd walked out", "people demanded refunds", "the critics screamed",
        "somebody threw tomatoes", "the hall groaned",
    ),
}  # fmt: skip
