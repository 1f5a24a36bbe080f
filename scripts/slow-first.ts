/** Sorts the test files. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * A worker serves one project at a time, so the files of a project come together. The project with the longest files is
 * first.
 */
const projects = ["e2e", "db", "unit"];

/**
 * Simulations are short files that run long. Vitest's order by size would start them last, when the other workers are
 * idle.
 */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId, project }: TestSpecification) =>
      2 * projects.indexOf(project.name) + (moduleId.includes("/sim/") ? 0 : 1);
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => place(a) - place(b));
  }
}
