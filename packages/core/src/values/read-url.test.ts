import { expect, test } from "vitest";
import { readUrl } from "./read-url.ts";

test("a host with Latin letters beyond ASCII is read the same way, also by a compiled function", () => {
  const hosts = new Set(Array.from({ length: 30_000 }, () => readUrl("https://bücher.example/x")?.hostname));
  expect([...hosts]).toEqual(["xn--bcher-kva.example"]);
});

test.each(["", "bücher.example", "http://a b/", "http://a:99999/"])("%j is no URL", (text) => {
  expect(readUrl(text)).toBeNull();
});
