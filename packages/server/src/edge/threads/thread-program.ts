import { basename } from "node:path";

export interface ThreadProgram {
  readonly url: URL;
  /** Absent: the arguments of this process. */
  readonly execArgv?: readonly string[];
  /** Absent: none. */
  readonly argv?: readonly string[];
}

export function threadOptions({ execArgv, argv }: ThreadProgram): { execArgv?: string[]; argv?: string[] } {
  return {
    ...(execArgv === undefined ? {} : { execArgv: [...execArgv] }),
    ...(argv === undefined ? {} : { argv: [...argv] }),
  };
}

/** From the sources (tests, benchmarks) a thread needs a TypeScript loader. */
export function threadProgram(built: URL): ThreadProgram {
  if (!import.meta.url.endsWith(".ts")) return { url: built };
  const source = basename(built.pathname).replace(/\.js$/, ".ts");
  return {
    url: new URL("./source-thread.mjs", import.meta.url),
    execArgv: ["--conditions=@countersign/source"],
    argv: [source],
  };
}
