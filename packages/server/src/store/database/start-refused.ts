/** The service cannot start, for a reason outside the program. */

/**
 * Stops the start: `message` is one clear line (or one line a problem) that names what is wrong and what to do about it.
 * The command line prints it without a stack and exits 1.
 */
export class StartRefused extends Error {
  override readonly name = "StartRefused";

  readonly problem: string;
  /** What to do, where `countersign doctor` shows it apart from the problem; null: the problem says it itself, or nobody knows. */
  readonly advice: string | null;

  constructor(problem: string, advice: string | null = null) {
    super(advice === null ? problem : `${problem}: ${advice}`);
    this.problem = problem;
    this.advice = advice;
  }
}
