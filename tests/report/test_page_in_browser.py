"""The page in a real browser, from a file: widths, filters, sorting, details, and no error in the console."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from elmo_bench.cli.main import main
from tests.support.report_records import ELMO, NONE, make_record, publish, publish_world

pytestmark = pytest.mark.slow

BROWSER, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
PUBLISHED = Path(__file__).parents[2] / "results" / "records"
WIDTHS = (1920, 1400, 390)
SCRIPTED = """
const wide = document.documentElement.clientWidth;
const seen = (element) => element.checkVisibility() && element.getBoundingClientRect().width > 0;
const beyond = [...document.querySelectorAll(arguments[0])]
  .filter((element) => seen(element) && element.getBoundingClientRect().right > wide + 1);
const scrolled = [...document.querySelectorAll(".scroll")]
  .filter((element) => seen(element) && element.scrollWidth > element.clientWidth + 1);
const name = (element) => `${element.tagName} ${element.textContent.trim().slice(0, 60)}`;
return [...beyond, ...scrolled].map(name);
"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """The page of the records in the repository, and that of a small world with real text beside it."""
    small = tmp_path_factory.mktemp("small")
    publish_world(small / "records")
    place: dict[str, Any] = {"source": "open", "corpus": "wikigold", "size": "open"}
    for elmo, right in ((NONE, 20), (ELMO, 30)):
        own = {"identity": {"size": "open"}, "stopped": "cap", **place}
        publish(small / "records", make_record("ner", 1, right, elmo, **own), right)
    outputs = {
        "published": (PUBLISHED, tmp_path_factory.mktemp("published")),
        "small": (small / "records", small),
    }
    for records, output in outputs.values():
        words = ["report", f"paths.records={records}", "--output", str(output), "--resamples", "100"]
        assert main(words) == 0
    return {name: output / "index.html" for name, (_, output) in outputs.items()}


@pytest.fixture
def browser() -> Iterator[Any]:
    webdriver = pytest.importorskip("selenium.webdriver", reason="selenium is not installed (extra dev)")
    if not (BROWSER and DRIVER):
        pytest.skip("no chromium and chromedriver on this machine (Debian: chromium, chromium-driver)")
    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for word in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=webdriver.ChromeService(executable_path=DRIVER))
    try:
        yield driver
        assert driver.get_log("browser") == []
    finally:
        driver.quit()


def visit(browser: Any, page: Path, width: int = 1400, **media: str) -> None:
    """Open a page at a width; nothing moves smoothly, so that a click meets what it aims at."""
    size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    wanted = {
        "prefers-reduced-motion": "reduce",
        **{name.replace("_", "-"): one for name, one in media.items()},
    }
    features = [{"name": name, "value": value} for name, value in wanted.items()]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
    browser.get(page.as_uri())


def choose(browser: Any, name: str, value: str) -> None:
    browser.find_element("css selector", f"select[data-filter={name}]").send_keys(value)


def visible(browser: Any, selector: str) -> list[Any]:
    return [one for one in browser.find_elements("css selector", selector) if one.is_displayed()]


def texts(browser: Any, selector: str) -> list[str]:
    return [one.text for one in visible(browser, selector)]


def follow(browser: Any, selector: str) -> None:
    """Follow the first visible link by the keyboard."""
    visible(browser, selector)[0].send_keys("\n")


def open_everything(browser: Any) -> None:
    browser.execute_script("for (const one of document.querySelectorAll('details')) one.open = true;")


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_overflows_whatever_is_open(browser: Any, pages: dict[str, Path], width: int) -> None:
    visit(browser, pages["published"], width)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(SCRIPTED, "body *") == []
    open_everything(browser)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(SCRIPTED, "body *") == []


@pytest.mark.parametrize("width", WIDTHS)
def test_no_detail_overflows(browser: Any, pages: dict[str, Path], width: int) -> None:
    visit(browser, pages["published"], width)
    follow(browser, "#table1 td.detail a")
    assert visible(browser, "main.runs section:target")
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    assert browser.execute_script(SCRIPTED, "body *") == []


def test_a_phone_shows_ours_before_the_papers(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["published"], 390)
    row = visible(browser, "#table1 tr:has(td.detail)")[0]  # one with a gain
    cells = [cell for cell in row.find_elements("css selector", "td") if cell.is_displayed()]
    placed = sorted(cells[1:], key=lambda cell: (cell.location["y"], cell.location["x"]))
    labels = [cell.get_attribute("data-label") for cell in placed]
    assert labels[:2] == ["Here", "Gain"]
    assert labels.index("95 % interval") < labels.index("Paper") < labels.index("Paper's gain")


def test_without_the_script_a_phone_scrolls_tables(browser: Any, pages: dict[str, Path]) -> None:
    without = pages["small"].with_name("without.html")
    without.write_text(re.sub("<script>.*?</script>", "", pages["small"].read_text(), flags=re.DOTALL))
    visit(browser, without, 390)
    assert browser.execute_script("return document.documentElement.scrollWidth") <= 390
    assert texts(browser, "#table1 thead th")[:3] == ["Task", "System", "Here"]
    follow(browser, "#table1 td.score a")
    assert texts(browser, "h1") == ["NER: without ELMo not converged"]


def test_filters_leave_what_was_chosen_on_the_whole_page(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["small"])
    before = len(visible(browser, "tbody > tr"))
    choose(browser, "task", "NER")
    assert {text.partition("\n")[0] for text in texts(browser, "#table1 tbody .begins th")} == {"NER"}
    assert set(texts(browser, ".forest h3")) == {"NER wikigold"}
    assert "Table 9: SQuAD" not in texts(browser, "nav a")
    assert 0 < len(visible(browser, "tbody > tr")) < before
    choose(browser, "source", "sample")
    assert set(texts(browser, ".forest h3")) == {"NER world"}  # its part was folded
    assert texts(browser, "#table1 .block caption")[0].endswith("encoder sample (eeeeeeee)")
    choose(browser, "encoder", "untrained")
    assert [text.split()[0] for text in texts(browser, ".forest .gain:not(.paper)")] == ["untrained"]
    browser.find_element("css selector", "#filters button").click()
    assert len(visible(browser, "tbody > tr")) == before
    assert texts(browser, "#filters output") in ([], [""])


def test_a_column_sorts_both_ways_and_back(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["small"])
    choose(browser, "source", "sample")

    def column() -> list[str]:
        return texts(browser, "#table2 .block:first-child td:nth-child(6)")

    def press() -> str | None:
        heading = visible(browser, "#table2 thead th")[5]
        heading.find_element("css selector", "button").send_keys("\n")  # by the keyboard
        order: str | None = heading.get_attribute("aria-sort")
        return order

    first = column()
    numbers = [float(text.split()[0]) for text in first if text != "–"]
    assert press() == "descending"
    assert [float(text.split()[0]) for text in column()[: len(numbers)]] == sorted(numbers, reverse=True)
    assert press() == "ascending"
    assert [float(text.split()[0]) for text in column()[: len(numbers)]] == sorted(numbers)
    assert set(column()[len(numbers) :]) <= {"–"}
    assert press() is None
    assert column() == first


def test_a_number_links_to_its_runs(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["small"])
    follow(browser, "#table1 td.score a")
    assert texts(browser, "h1") == ["NER: without ELMo not converged"]
    assert len(visible(browser, "svg")) == 2
    for link in visible(browser, "td a"):
        assert Path(link.get_attribute("href").removeprefix("file://")).is_file()
    browser.back()
    follow(browser, ".forest .gain a")
    assert len(visible(browser, "section:target")) == 1
    follow(browser, "section:target p a")
    assert texts(browser, "h1") == ["NER: without ELMo not converged"]
    follow(browser, "main > p a")
    assert visible(browser, "#table1")


def test_who_comes_back_finds_open_what_was_open_and_filtered_what_was_filtered(
    browser: Any, pages: dict[str, Path]
) -> None:
    visit(browser, pages["small"])
    choose(browser, "source", "sample")
    choose(browser, "task", "NER")
    open_everything(browser)
    rows, folds = len(visible(browser, "tbody > tr")), len(visible(browser, "details[open]"))
    follow(browser, "#table1 td.score a")
    assert texts(browser, "h1") == ["NER: without ELMo"]
    browser.back()
    assert len(visible(browser, "details[open]")) == folds
    assert len(visible(browser, "tbody > tr")) == rows


def test_learning_curves_are_one_click_away(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["small"])
    choose(browser, "source", "sample")
    caption = texts(browser, "#curves li a")[0]
    follow(browser, "#curves li a")
    assert texts(browser, "figure:target figcaption")[0].startswith(caption)
    follow(browser, "main > p a")
    assert browser.current_url.endswith("index.html#curves")


def test_a_link_to_a_folded_remark_opens_it(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["small"])
    remark = browser.execute_script(
        "return [...document.querySelectorAll('[id^=remark-]')].find((one) => !one.checkVisibility())?.id"
    )
    assert remark
    browser.execute_script("location.hash = arguments[0]", remark)
    assert visible(browser, f"#{remark}")


def test_dark_and_print_have_their_own_colours(browser: Any, pages: dict[str, Path]) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    visit(browser, pages["small"], prefers_color_scheme="dark")
    assert browser.execute_script(background) == "rgb(21, 24, 28)"
    visit(browser, pages["small"], prefers_color_scheme="light")
    assert browser.execute_script(background) == "rgb(255, 255, 255)"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert visible(browser, "nav") == visible(browser, "#filters") == []
    assert visible(browser, "#table1 table")
