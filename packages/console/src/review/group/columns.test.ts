import { describe, expect, test } from "vitest";
import { whatDiffers } from "../what-differs.ts";
import { beside, columnsOf, medianOf, valueAt } from "./columns.ts";

const compared = (...contents: readonly object[]) =>
  whatDiffers(new Map(contents.map((each, at) => [String(at), each])));
const columns = (...contents: readonly object[]) => columnsOf(compared(...contents));

describe("the columns of a group", () => {
  test("are its differing fields, with the whole path where two have the same name", () => {
    const [a, b] = [
      { to: { id: 1 }, from: { id: 7 }, note: "a", currency: "USD" },
      { to: { id: 2 }, from: { id: 8 }, note: "b", currency: "USD" },
    ];
    expect(columns(a, b).map(({ name }) => name)).toEqual(["to/id", "from/id", "note"]);
    expect(columns(a, a)).toEqual([]);
  });

  test("are at most six, those that most members have; the rest is beside them", () => {
    const wide = Object.fromEntries(Array.from({ length: 7 }, (_, n) => [`n${n}`, 1]));
    const other = Object.fromEntries(Array.from({ length: 7 }, (_, n) => [`n${n}`, 2]));
    const differences = compared({ ...wide, only: 1 }, other);
    const found = columnsOf(differences);
    expect(found.map(({ name }) => name)).toEqual(["n0", "n1", "n2", "n3", "n4", "n5"]);
    const first = differences.get("0") ?? { places: [], elsewhere: 0 };
    expect(valueAt(first, "/n0")).toBe("1");
    expect(beside(first, found).places.map(({ path }) => path)).toEqual(["/n6", "/only"]);
  });

  test("mark numbers far above the median, and values that differ from one that most share", () => {
    const [amounts, places] = columns(
      ...[100, 110, 90, 1_700, 95].map((amount_usd, at) => ({ amount_usd, country: at === 2 ? "KP" : "US" })),
    );
    expect([...(amounts?.outliers ?? [])]).toEqual([["3", "17 × the median"]]);
    expect([...(places?.outliers ?? [])]).toEqual([["2", "4 others are equal"]]);
    expect(columns({ amount: 1 }, { amount: 900 })[0]?.outliers.size).toBe(0);
  });

  test("sum amounts, unless a member has none or the field is about something else", () => {
    const sums = (...contents: readonly object[]) => columns(...contents).map(({ sum }) => sum);
    expect(sums({ amount_usd: 1.5, rows: 1 }, { amount_usd: 2, rows: 2 })).toEqual([3.5, null]);
    expect(sums({ amount_usd: 1, id: 1 }, { id: 1 })).toEqual([null]);
    expect(sums({ amount_usd: "many" }, { amount_usd: 2 })).toEqual([null]);
  });
});

test("the median of an even number of values is between the two in the middle", () => {
  expect(medianOf([4, 1, 3, 2])).toBe(2.5);
  expect(medianOf([5])).toBe(5);
});
