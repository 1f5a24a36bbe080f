// Countersign as `countersign serve` starts it, from the build, but with the benchmark's pack in place of the released ones.
import { readConfig, startService } from "../../packages/cli/dist/program/server.js";

const service = await startService(readConfig(process.env), undefined, { packs_folder: process.argv[2] });
console.log(`listening on ${service.url}`);
process.once("SIGTERM", () => service.stop());
