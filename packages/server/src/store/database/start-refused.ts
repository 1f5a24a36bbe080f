/** The service cannot start, for a reason outside the program. */

/**
 * Stops the start: `message` is one clear line (or one line a problem) that names what is wrong and what to do about it.
 * The command line prints it without a stack and exits 1.
 */
export class StartRefused extends Error {
  override readonly name = "StartRefused";

  /** `advice`: what to do, where `countersign doctor` shows it apart from `problem`; null: the problem says it itself, or nobody knows. */
  constructor(
    readonly problem: string,
    readonly advice: string | null = null,
  ) {
    super(advice === null ? problem : `${problem}: ${advice}`);
  }
}
