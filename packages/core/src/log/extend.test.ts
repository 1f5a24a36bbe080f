import { hash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { edgeOf, extendTree, type FullTile } from "./extend.ts";
import { type TilePlace, tile_width } from "./tiles.ts";
import { emptyRoot, nodeHash, type TreeHash } from "./tree.ts";

const leafOf = (n: number): TreeHash => hash("sha256", `\0leaf ${n}`, "buffer");

/** A tree that keeps every level whole. */
function rootOf(leaves: readonly TreeHash[]): TreeHash {
  if (leaves.length === 0) return emptyRoot;
  let row = leaves;
  while (row.length > 1)
    row = Array.from({ length: Math.ceil(row.length / 2) }, (_, n) => {
      const [left, right] = [row[2 * n] as TreeHash, row[2 * n + 1]];
      return right === undefined ? left : nodeHash(left, right);
    });
  return row[0] as TreeHash;
}

/** Stores full tiles as the database does. */
function grow(store: Map<string, FullTile>, all: readonly TreeHash[], old_size: number) {
  const full = [...store.values()].filter(({ level }) => level === 0).length;
  const below = ({ level, index }: TilePlace) =>
    Buffer.concat(
      Array.from(
        { length: tile_width },
        (_, n) => store.get(`${level - 1}/${index * tile_width + n}`)?.hash ?? Buffer.alloc(0),
      ),
    );
  const extended = extendTree(full, edgeOf(full).map(below), Buffer.concat(all.slice(full * tile_width)), old_size);
  for (const tile of extended.tiles) {
    expect(store.has(`${tile.level}/${tile.index}`)).toBe(false);
    store.set(`${tile.level}/${tile.index}`, tile);
  }
  return extended;
}

test("a tree that grows in steps of any size has the roots of a tree that was built at once", () => {
  const steps = fc.array(fc.oneof(fc.integer({ min: 0, max: 3 }), fc.integer({ min: 200, max: 700 })), {
    maxLength: 8,
  });
  fc.assert(
    fc.property(steps, (lengths) => {
      const store = new Map<string, FullTile>();
      let all: TreeHash[] = [];
      for (const length of lengths) {
        const old_size = all.length;
        all = [...all, ...Array.from({ length }, (_, n) => leafOf(old_size + n))];
        const { root, old_root, size } = grow(store, all, old_size);
        expect([size, root, old_root]).toEqual([all.length, rootOf(all), rootOf(all.slice(0, old_size))]);
      }
    }),
    { numRuns: runs(200) },
  );
});

test("the 65,536th leaf fills tiles of two levels", () => {
  const all = Array.from({ length: 65_536 + 3 }, (_, n) => leafOf(n));
  const store = new Map<string, FullTile>();
  grow(store, all.slice(0, 65_535), 0);
  expect(store.has("1/0")).toBe(false);
  const { root, old_root } = grow(store, all, 65_535);
  expect(store.get("1/0")?.hash).toEqual(rootOf(all.slice(0, 65_536)));
  expect(root).toEqual(rootOf(all));
  expect(old_root).toEqual(rootOf(all.slice(0, 65_535)));
});
