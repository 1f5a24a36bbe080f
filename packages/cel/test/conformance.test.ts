import { beforeAll, describe, expect, it } from "vitest";
import { runSuite, type Tally } from "../conformance/run.ts";
import { specTests } from "../conformance/suite.ts";

const CORE = [
  "basic",
  "comparisons",
  "conversions",
  "fields",
  "fp_math",
  "integer_math",
  "lists",
  "logic",
  "macros",
  "namespace",
  "parse",
  "plumbing",
  "string",
  "timestamps",
];
const EXTENSIONS = ["string_ext", "math_ext", "optionals", "bindings_ext", "macros2", "encoders_ext"];

describe("the official conformance suite", () => {
  let tally: Tally;
  beforeAll(() => {
    tally = runSuite();
  });
  const file = (name: string) => tally.files.find((f) => f.file === name) ?? { passed: 0, failed: 1, skipped: 0 };
  const share = (name: string) => file(name).passed / (file(name).passed + file(name).failed);
  const shown = (name: string) => tally.failures.filter((f) => f.test.startsWith(`${name}/`));

  it("is the whole suite: every test is run or skipped for a stated reason", () => {
    const seen = tally.files.reduce((n, f) => n + f.passed + f.failed + f.skipped, 0);
    const reasons = Object.values(tally.reasons).reduce((n, count) => n + count, 0);
    expect(seen).toBe(specTests().length);
    expect(seen).toBe(2344);
    expect(reasons).toBe(tally.files.reduce((n, f) => n + f.skipped, 0));
  });

  it("passes all of the core without protobuf messages, at least 1,078 tests", () => {
    expect(CORE.flatMap(shown)).toEqual([]);
    expect(CORE.reduce((n, name) => n + file(name).passed, 0)).toBeGreaterThanOrEqual(1078);
  });

  it("passes at least 95 % of type_deductions without protobuf", () => {
    expect(share("type_deductions"), JSON.stringify(shown("type_deductions"))).toBeGreaterThanOrEqual(0.95);
    expect(file("type_deductions").passed).toBeGreaterThanOrEqual(25);
  });

  for (const name of EXTENSIONS) {
    it(`passes at least 95 % of ${name} without protobuf`, () => {
      expect(share(name), JSON.stringify(shown(name))).toBeGreaterThanOrEqual(0.95);
    });
  }

  it("fails none of the tests that it runs", () => {
    expect(tally.failures).toEqual([]);
  });
});
