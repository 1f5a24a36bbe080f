/** Runs the embedded database, for tests that kill it. Prints one JSON line when it is ready or failed. */
import { startEmbedded } from "../../store/embedded-postgres/index.ts";
import { silentLog } from "../nodes/silent-log.ts";

try {
  const server = await startEmbedded(JSON.parse(process.argv[2] ?? "{}"), silentLog);
  console.log(JSON.stringify({ pid: server.pid(), connection: server.connection, source: server.source }));
  process.once("SIGTERM", () => server.stop().then(() => process.exit(0)));
} catch (error) {
  console.log(JSON.stringify({ refused: (error as Error).message, name: (error as Error).name }));
  process.exit(1);
}
