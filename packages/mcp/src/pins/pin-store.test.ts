import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { openPinStore, tools_max } from "./pin-store.ts";

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), "countersign-pins-"));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}
const filesIn = (path: string) =>
  readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => join(each.parentPath, each.name));
const server = ["node", "server.js", "--token=secret"];
const [first, second] = [{ description: "pays" }, { description: "pays all" }];

test("the first definition is pinned for the next run, until another one replaces it", () => {
  const path = folder();
  const pins = openPinStore(path, server);
  expect(pins.read("pay")).toBeNull();
  expect(pins.pinFirst("pay", first)).toEqual(first);
  const next_run = openPinStore(path, server);
  expect(next_run.pinFirst("pay", second)).toEqual(first);
  next_run.replace("pay", second);
  expect(pins.read("pay")).toEqual(second);
  expect(pins.read("Pay")).toBeNull();
});

test("servers have separate pins, and neither their command line nor their pins are readable by others", () => {
  const path = folder();
  openPinStore(path, server).pinFirst("pay", first);
  expect(openPinStore(path, ["node", "other.js"]).read("pay")).toBeNull();
  const [file = "", ...others] = filesIn(path);
  expect(others).toEqual([]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(file + readFileSync(file, "utf8")).not.toContain("secret");
});

test("two processes that pin at the same time agree on one definition", () => {
  const path = folder();
  const [one, other] = [openPinStore(path, server), openPinStore(path, server)];
  // The other process pins after this one saw no pin.
  const toJSON = () => {
    other.pinFirst("pay", second);
    return first;
  };
  const late = { ...first, toJSON };
  expect(one.pinFirst("pay", late as never)).toEqual(second);
  expect(one.read("pay")).toEqual(second);
  expect(filesIn(path)).toHaveLength(1);
});

test.each(["", "{", "[]", '{"tool":"pay"}', '{"tool":"other","definition":{}}', '{"tool":"pay","definition":[]}'])(
  "a damaged pin is an error, and never a first use: %j",
  (text) => {
    const path = folder();
    const pins = openPinStore(path, server);
    pins.pinFirst("pay", first);
    const [file = ""] = filesIn(path);
    writeFileSync(file, text);
    for (const use of [() => pins.read("pay"), () => pins.pinFirst("pay", second)])
      expect(use).toThrow(`${file} is no valid pin of the tool "pay". Restore the file, or delete it`);
    expect(readFileSync(file, "utf8")).toBe(text);
  },
);

test("a server that lists ever new tools cannot fill the disk", () => {
  const path = folder();
  openPinStore(path, server).pinFirst("pay", first);
  const [own_folder = ""] = readdirSync(path).map((name) => join(path, name));
  for (let n = 1; n < tools_max; n += 1) writeFileSync(join(own_folder, `${n}`), "");
  const pins = openPinStore(path, server);
  expect(() => pins.pinFirst("new", first)).toThrow("has the pins of 2000 tools, and takes no more");
  expect(pins.pinFirst("pay", second)).toEqual(first);
});

test("a folder that cannot be written is an error", () => {
  const path = folder();
  const pins = openPinStore(path, server);
  rmSync(path, { recursive: true });
  expect(() => pins.pinFirst("pay", first)).toThrow("ENOENT");
  writeFileSync(path, "");
  expect(() => openPinStore(path, server)).toThrow();
});
