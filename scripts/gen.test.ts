import { expect, it } from "vitest";
import { staleFiles } from "./gen.ts";

it("the generated files are in step with the contract's tables (npm run gen writes them)", () => {
  expect(staleFiles()).toEqual([]);
});
