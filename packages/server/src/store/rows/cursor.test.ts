import { expect, test } from "vitest";
import { decodeCursorSince, isSeq, page, placeSince } from "./cursor.ts";

test("a cursor leads to its place, with the audit record that its first page was read at", () => {
  const { next_cursor } = page([7, 8], 1, (row) => placeSince(String(row), 42));
  expect(decodeCursorSince(next_cursor ?? "", isSeq)).toEqual({ place: "7", seq: 42 });
  expect(decodeCursorSince(undefined, isSeq)).toBeNull();
});

test.each(["7", "7 -1", "7 x", "7 42 1", "7  42", "x 42", " 42", "7 12345678901234567"])(
  "a cursor with the text %j is refused",
  (text) => {
    const cursor = Buffer.from(text, "utf8").toString("base64url");
    expect(() => decodeCursorSince(cursor, isSeq)).toThrow(
      expect.objectContaining({ code: "invalid_request", details: [expect.objectContaining({ path: "/cursor" })] }),
    );
  },
);
