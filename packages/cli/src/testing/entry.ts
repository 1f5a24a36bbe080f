/** Runs bin/countersign.js from the sources, without its checks. */
import { run } from "../index.ts";

process.exitCode = await run(process.argv);
