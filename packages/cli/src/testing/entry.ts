/** What bin/countersign.js does after its checks, but from the sources. */
import { run } from "../index.ts";

process.exitCode = await run(process.argv);
