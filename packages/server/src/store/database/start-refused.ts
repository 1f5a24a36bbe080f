/**
 * The service cannot start for a reason outside the program. The command line prints `message` without a stack and
 * exits with 1.
 */
export class StartRefused extends Error {
  override readonly name = "StartRefused";

  readonly problem: string;
  /** Null: the message contains the solution, or it is unknown. */
  readonly advice: string | null;

  constructor(problem: string, advice: string | null = null) {
    super(advice === null ? problem : `${problem}: ${advice}`);
    this.problem = problem;
    this.advice = advice;
  }
}
