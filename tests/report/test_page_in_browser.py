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
    for detail in ("c", "p"):
        browser.execute_script(f"document.querySelector('.runs[id^={detail}-]').showPopover();")
        assert browser.execute_script(SCRIPTED, ".runs:popover-open *") == []
        browser.execute_script("document.querySelector('.runs:popover-open').hidePopover();")


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
    visible(browser, "#table1 td.score button")[0].send_keys("\n")
    assert len(visible(browser, ".runs")) == 1


def test_what_drawings_share_looks_as_if_it_were_theirs(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["small"])
    visible(browser, "#table1 td.score button")[0].send_keys("\n")
    (shown,) = visible(browser, ".runs")
    drawing = shown.find_elements("css selector", "svg")[1]
    names = [use.get_attribute("href").removeprefix("#") for use in drawing.find_elements("tag name", "use")]
    assert names
    inlined = """
        const [drawing, names] = arguments;
        const places = (found) => found.map((one) => JSON.stringify(one.getBoundingClientRect()));
        const uses = [...drawing.querySelectorAll("use")];
        const before = places(uses);
        const parts = names.map((name) => document.getElementById(name).cloneNode(true));
        uses.forEach((use, number) => use.replaceWith(parts[number]));
        return [before, places(parts)];
    """
    before, after = browser.execute_script(inlined, drawing, names)
    assert before == after


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


def test_a_number_opens_to_its_runs_and_closes_by_the_keyboard(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["small"])
    visible(browser, "#table1 td.score button")[0].send_keys("\n")
    (shown,) = visible(browser, ".runs")
    assert "NER: without ELMo" in shown.text and "not converged" in shown.text
    assert len(shown.find_elements("css selector", "svg")) == 2
    for link in shown.find_elements("css selector", "a"):
        assert Path(link.get_attribute("href").removeprefix("file://")).is_file()
    browser.switch_to.active_element.send_keys("\ue00c")  # Escape
    assert visible(browser, ".runs") == []
    visible(browser, ".forest .gain button")[0].send_keys("\n")
    (shown,) = visible(browser, ".runs")
    shown.find_element("css selector", "p button").send_keys("\n")
    assert "without ELMo" in visible(browser, ".runs")[-1].text


def test_a_link_to_a_folded_remark_or_to_a_condition_opens_it(browser: Any, pages: dict[str, Path]) -> None:
    visit(browser, pages["small"])
    remark = browser.execute_script(
        "return [...document.querySelectorAll('[id^=remark-]')].find((one) => !one.checkVisibility())?.id"
    )
    assert remark
    browser.execute_script("location.hash = arguments[0]", remark)
    assert visible(browser, f"#{remark}")
    condition = browser.execute_script("return document.querySelector('.runs').id")
    browser.get(f"{pages['small'].as_uri()}#{condition}")
    browser.refresh()
    assert [one.get_attribute("id") for one in visible(browser, ".runs")] == [condition]


def test_dark_and_print_have_their_own_colours(browser: Any, pages: dict[str, Path]) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    visit(browser, pages["small"], prefers_color_scheme="dark")
    assert browser.execute_script(background) == "rgb(21, 24, 28)"
    visit(browser, pages["small"], prefers_color_scheme="light")
    assert browser.execute_script(background) == "rgb(255, 255, 255)"
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert visible(browser, "nav") == visible(browser, "#filters") == []
    assert visible(browser, "#table1 table")
