/** The service cannot start, for a reason outside the program. */

/**
 * Stops the start. `message` is one clear line (or one line a problem) that names the problem and the solution. The
 * command line prints it without a stack and exits with code 1.
 */
export class StartRefused extends Error {
  override readonly name = "StartRefused";

  readonly problem: string;
  /**
   * The solution, if `countersign doctor` shows it apart from the problem. Null: the message contains it, or it is
   * unknown.
   */
  readonly advice: string | null;

  constructor(problem: string, advice: string | null = null) {
    super(advice === null ? problem : `${problem}: ${advice}`);
    this.problem = problem;
    this.advice = advice;
  }
}
