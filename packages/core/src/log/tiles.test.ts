import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { parseTilePath, tilePath, tileWidth } from "./tiles.ts";

test.each([
  [{ level: 0, index: 0, width: 256 }, "0/000"],
  [{ level: 0, index: 273, width: 112 }, "0/273.p/112"],
  [{ level: 1, index: 1_234_067, width: 256 }, "1/x001/x234/067"],
  [{ level: 3, index: 1_000, width: 1 }, "3/x001/000.p/1"],
])("%j is at %s, as in C2SP tlog-tiles", (tile, path) => {
  expect(tilePath(tile)).toBe(path);
  expect(parseTilePath(path)).toEqual(tile);
});

test.each([
  "",
  "0",
  "00/000",
  "64/000",
  "0/00",
  "0/x000/000",
  "0/1",
  "0/000.p/0",
  "0/000.p/256",
  "0/000.p/01",
  "0/x001/1",
  "0/001/002",
  "-1/000",
])("%s is no path of a tile", (path) => {
  expect(parseTilePath(path)).toBeNull();
});

test("every tile has one path", () => {
  const tiles = fc.record({
    level: fc.integer({ min: 0, max: 63 }),
    index: fc.integer({ min: 0, max: 10 ** 12 }),
    width: fc.integer({ min: 1, max: 256 }),
  });
  fc.assert(
    fc.property(tiles, (tile) => void expect(parseTilePath(tilePath(tile))).toEqual(tile)),
    { numRuns: runs(1_000) },
  );
});

test("a tree of 70,000 leaves has the tiles that C2SP tlog-tiles says", () => {
  const width = (level: number, index: number) => tileWidth({ level, index }, 70_000);
  expect([width(0, 0), width(0, 272), width(0, 273), width(0, 274)]).toEqual([256, 256, 112, 0]);
  expect([width(1, 0), width(1, 1), width(1, 2), width(2, 0), width(3, 0)]).toEqual([256, 17, 0, 1, 0]);
});
