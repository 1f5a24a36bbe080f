import { expect, it } from "vitest";
import { subjectProblem } from "./commit-subject.ts";

it.each([
  "Refuse rounded integers",
  `Refuse ${"x".repeat(58)}`,
  "Refuse rounded integers\n\nTheir doubles print as other numbers.",
  "# a comment of the editor\nRefuse rounded integers\n# another",
  'Revert "refuse rounded integers."',
])("%j is accepted", (message) => {
  expect(subjectProblem(message)).toBeNull();
});

it.each([
  ["", "empty"],
  [`Refuse ${"x".repeat(59)}`, "66 characters"],
  ["Refuse rounded integers.", "full stop"],
  ["refuse rounded integers", "capital letter"],
  ["Refuse rounded integers\nand decimals", "line after the subject"],
])("%j is refused", (message, problem) => {
  expect(subjectProblem(message)).toContain(problem);
});
