// As `countersign serve` from the build, with the benchmark's pack.
import {
  isWorker,
  meetSupervisor,
  readConfig,
  startService,
  startSupervisor,
  workersOf,
} from "../../packages/cli/dist/program/server.js";

const config = readConfig(process.env);
const packs_folder = process.argv[2];

async function serveAsWorker() {
  process.on("SIGTERM", () => undefined);
  const supervised = await meetSupervisor();
  const service = await startService(config, undefined, { packs_folder, supervised });
  supervised.listening(service.url);
  await supervised.stopped;
  await service.stop();
  process.exit();
}

async function serve() {
  const workers = workersOf(config);
  const service =
    workers > 1 ? await startSupervisor(config, workers) : await startService(config, undefined, { packs_folder });
  console.log(`listening on ${service.url}`);
  process.once("SIGTERM", () => service.stop());
}

await (isWorker() ? serveAsWorker() : serve());
