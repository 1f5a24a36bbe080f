import { basename } from "node:path";

/** The program of a thread. */
export interface ThreadProgram {
  readonly url: URL;
  /** Absent: those of this process. */
  readonly execArgv?: readonly string[];
  /** What the program finds behind its own name; absent: nothing. */
  readonly argv?: readonly string[];
}

/** The program as `Worker` takes it. */
export function threadOptions({ execArgv, argv }: ThreadProgram): { execArgv?: string[]; argv?: string[] } {
  return {
    ...(execArgv === undefined ? {} : { execArgv: [...execArgv] }),
    ...(argv === undefined ? {} : { argv: [...argv] }),
  };
}

/** From the sources (tests, benchmarks) a thread needs a loader for TypeScript, beside what was built from them it does not. */
export function threadProgram(built: URL): ThreadProgram {
  if (!import.meta.url.endsWith(".ts")) return { url: built };
  const source = basename(built.pathname).replace(/\.js$/, ".ts");
  return {
    url: new URL("./source-thread.mjs", import.meta.url),
    execArgv: ["--conditions=@countersign/source"],
    argv: [source],
  };
}
