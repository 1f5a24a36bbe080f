import type { ThreadProgram } from "../../edge/threads/thread-program.ts";

/** A thread from sources starts three times slower. */
export function builtThread(name: "backtest-thread" | "delivery-thread"): ThreadProgram | undefined {
  if (process.env["TEST_THE_BUILD"] !== "yes") return undefined;
  return { url: new URL(`../../../../cli/dist/program/${name}.js`, import.meta.url), execArgv: [] };
}
