/** The command-line program. */
export { run } from "./program.ts";
