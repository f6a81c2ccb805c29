"""The view of everything that was logged: pictures, texts, sounds, histograms."""

from __future__ import annotations

from typing import Any

from tests.browser.accessibility import assert_accessible, assert_fits
from tests.browser.polling import wait_until

_LOADED = "image => image.complete && image.naturalWidth > 0"


def open_pictures(page: Any, served: str, run: str = "logged", more: str = "") -> None:
    page.goto(f"{served}#/pictures?run={run}{more}")
    page.get_by_role("heading", name="Pictures", level=1).wait_for()


def loaded(page: Any, image: Any) -> None:
    image.wait_for()
    wait_until(page, _LOADED, image.element_handle())


def test_every_tag_is_shown_at_its_last_step(page: Any, data_served: str) -> None:
    open_pictures(page, data_served)
    for name in ("samples/rings", "samples/several", "figures/scatter"):
        loaded(page, page.get_by_role("img", name=f"{name} at step 50"))
    page.get_by_role("article", name="sounds/tone").locator("audio").wait_for()
    page.get_by_role("img", name="Values from").wait_for()
    assert page.evaluate("document.querySelectorAll('main img').length") == 4


def test_hostile_names_and_texts_stay_text(page: Any, data_served: str) -> None:
    open_pictures(page, data_served)
    page.get_by_text("Step 50", exact=True).wait_for()
    card = page.get_by_role("article", name="notes")
    assert "<script>alert(1)</script>" in card.inner_text()
    assert card.locator("a").all_inner_texts() == ["page"]
    assert card.locator("a").get_attribute("rel") == "noopener noreferrer"
    assert page.get_by_role("button", name="<img src=x onerror=alert(1)>/long").count() == 1


def test_one_slider_moves_all_and_single_ones_their_own(page: Any, data_served: str) -> None:
    open_pictures(page, data_served)
    page.get_by_label("All at step").focus()
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    loaded(page, page.get_by_role("img", name="samples/rings at step 10"))
    loaded(page, page.get_by_role("img", name="figures/scatter at step 10"))
    page.get_by_role("article", name="samples/rings").get_by_label("Step").focus()
    page.keyboard.press("End")
    loaded(page, page.get_by_role("img", name="samples/rings at step 50"))
    assert page.get_by_role("img", name="figures/scatter at step 10").count() == 1
    page.reload()
    loaded(page, page.get_by_role("img", name="samples/rings at step 50"))
    loaded(page, page.get_by_role("img", name="figures/scatter at step 10"))


def test_tags_are_searched_with_a_key(page: Any, data_served: str) -> None:
    open_pictures(page, data_served)
    page.get_by_role("article", name="samples/rings").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("several")
    page.get_by_text("1 tag of 7").wait_for()
    assert page.get_by_role("article").count() == 1


def test_before_and_after_side_by_side_and_wiped(page: Any, data_served: str) -> None:
    open_pictures(page, data_served)
    page.get_by_role("button", name="samples/rings").click()
    page.get_by_role("radio", name="Side by side").check()
    loaded(page, page.get_by_role("img", name="samples/rings at step 0,"))
    loaded(page, page.get_by_role("img", name="samples/rings at step 50,"))
    page.get_by_role("radio", name="Wipe").check()
    page.get_by_label("Where before ends and after begins").fill("25")
    over = page.locator(".pictures-wipe-over")
    assert over.evaluate("element => getComputedStyle(element).clipPath") == "inset(0px 75% 0px 0px)"
    assert_accessible(page)
    page.get_by_role("button", name="All pictures").click()
    page.get_by_role("article", name="samples/rings").wait_for()


def test_single_pixels_can_be_seen(page: Any, data_served: str) -> None:
    open_pictures(page, data_served, more="&kind=pictures&tag=samples%2Frings&zoom=8")
    image = page.get_by_role("img", name="samples/rings at step 50")
    loaded(page, image)
    assert image.evaluate("image => [image.offsetWidth, getComputedStyle(image).imageRendering]") == [384, "pixelated"]


def test_a_sound_can_be_played(page: Any, data_served: str) -> None:
    open_pictures(page, data_served)
    sound = page.locator("audio")
    sound.wait_for()
    length = sound.evaluate(
        "sound => new Promise((done, failed) => { sound.onloadedmetadata = () => done(sound.duration);"
        " sound.onerror = () => failed(sound.error.message); sound.preload = 'metadata'; sound.load(); })"
    )
    assert abs(length - 0.5) < 0.01


def test_what_is_no_picture_has_a_sentence_in_its_place(page: Any, data_served: str) -> None:
    open_pictures(page, data_served, "hostile")
    page.get_by_text("no PNG, JPEG, GIF or WebP").wait_for()
    page.get_by_text("no WAV, FLAC, Ogg or MP3").wait_for()
    assert page.locator("main img, main audio, main svg").count() == 0


def test_it_is_accessible_and_narrow(page: Any, data_served: str) -> None:
    open_pictures(page, data_served)
    loaded(page, page.get_by_role("img", name="samples/rings at step 50"))
    assert_accessible(page)
    assert_fits(page)


def test_a_run_that_logged_nothing_says_what_would(page: Any, data_served: str) -> None:
    open_pictures(page, data_served, "series")
    page.get_by_text("This run has logged no pictures, texts, sounds or histograms.").wait_for()
