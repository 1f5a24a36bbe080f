import { basename } from "node:path";

/** The program of a thread. */
export interface ThreadProgram {
  readonly url: URL;
  /** Absent: the arguments of this process. */
  readonly execArgv?: readonly string[];
  /** The arguments of the program. Absent: none. */
  readonly argv?: readonly string[];
}

/** Returns the program in the form that `Worker` takes. */
export function threadOptions({ execArgv, argv }: ThreadProgram): { execArgv?: string[]; argv?: string[] } {
  return {
    ...(execArgv === undefined ? {} : { execArgv: [...execArgv] }),
    ...(argv === undefined ? {} : { argv: [...argv] }),
  };
}

/**
 * Returns the program for a built file. From the sources (tests, benchmarks) a thread needs a TypeScript loader, in a
 * build it does not.
 */
export function threadProgram(built: URL): ThreadProgram {
  if (!import.meta.url.endsWith(".ts")) return { url: built };
  const source = basename(built.pathname).replace(/\.js$/, ".ts");
  return {
    url: new URL("./source-thread.mjs", import.meta.url),
    execArgv: ["--conditions=@countersign/source"],
    argv: [source],
  };
}
