import { expect, test } from "vitest";
import { lookAlikesIn } from "./look-alikes.ts";
import { visibleText } from "./visible-text.ts";

const shown = (text: string) => visibleText(text).replaceAll(/(?:\\u(?:\{[0-9a-f]+\}|[0-9a-f]{4}))+/g, "#");

test.each([
  ["a Cyrillic letter in a Latin word", "pay p\u0430ypal.com", "pay p#ypal.com"],
  ["a Greek letter in a Latin word", "g\u03bfogle", "g#ogle"],
  ["a Latin letter in a Cyrillic word", "M\u043e\u0441\u043a\u0432\u0430", "M#\u043a\u0432#"],
  ["a Cherokee letter in a Latin word", "\u13aamex", "#mex"],
  ["a word of look-alikes in a Latin text", "to \u0440\u0430\u0443\u0440\u0430\u04cf today", "to # today"],
  ["a text that is one word of look-alikes", '"\u0440\u0430\u0443"', '"#"'],
  ["a word of Greek capitals in a Latin text", "see \u0391\u03a4\u039c now", "see # now"],
  ["mathematical letters", "\u{1d429}\u{1d41a}\u{1d432}", "#"],
  ["full-width letters", "\uff50ay", "#ay"],
  ["a Latin letter that looks like another", "p\u0251ypal", "p#ypal"],
  ["a domain of look-alikes in a Russian text", "Привет от \u0440\u0430\u0443.com", "Привет от #.com"],
  ["a look-alike with digits and marks", "a\u03011\u0441", "a\u03011#"],
])("%s is shown as an escape", (_, text, stands) => {
  expect(shown(text)).toBe(stands);
});

test("a word that mixes scripts without look-alikes is marked as it is", () => {
  expect(lookAlikesIn("on USB\u0448\u043d\u044b\u0439 disk")).toEqual([
    { start: 3, end: 10, name: "word that mixes Latin and Cyrillic letters", is_letter: false },
  ]);
});

test.each([
  ["Russian with Latin words", "Отправить отчёт в Slack и API, а также на хоре. Он и оса."],
  ["Russian lines as JSON", JSON.stringify("Привет,\nмир\tи\r\nтак")],
  ["Greek with Latin words", "Στείλε το email στο API, το ποσό και τον νόμο του ΤΟΠ."],
  ["Japanese with Latin words", "APIを使ってPDFをSlackへ送る。ＡＰＩ、ｋｇ"],
  ["Chinese and Korean with Latin words", "用API发送email。API를 사용"],
  ["Hebrew and Arabic with Latin words", "שלח אל הAPI בבקשה, אל סוס. أرسل الAPI هنا"],
  ["Thai with Latin words", "ใช้APIของเรา"],
  ["Armenian", "Ուղարկել հաշիվը API"],
  ["accents of Latin letters", "Müller ísı İğne Łódź señor Nguyễn naïve œuvre 1º ª"],
  ["signs of physics", "Δt = 5 μs, 3 kΩ, 2πr"],
  ["words of two scripts with a sign between", "IT-отдел report_отчёт Wi-Fi/сеть"],
  ["a currency and an emoji", "5 € \u{1f600} ½ №5"],
])("%s has no look-alikes", (_, text) => {
  expect(lookAlikesIn(text)).toEqual([]);
});
