import { BaseSequencer, type TestSpecification } from "vitest/node";

/** A worker serves one project at a time. The project with the longest files comes first. */
const projects = ["e2e", "db", "unit"];

/** Starts simulations first: they are short files with long runs, and vitest's order by size would start them last. */
export class SlowFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const place = ({ moduleId, project }: TestSpecification) =>
      2 * projects.indexOf(project.name) + (moduleId.includes("/sim/") ? 0 : 1);
    const sorted = await super.sort(files);
    return sorted.sort((a, b) => place(a) - place(b));
  }
}
