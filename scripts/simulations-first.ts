/** The order of the test files. */
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Short files that run long: begun last, as vitest's order by size has it, they run alone while the other workers idle. */
export class SimulationsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isSimulation = ({ moduleId }: TestSpecification) => moduleId.includes("/sim/");
    const sorted = await super.sort(files);
    return [...sorted.filter(isSimulation), ...sorted.filter((file) => !isSimulation(file))];
  }
}
