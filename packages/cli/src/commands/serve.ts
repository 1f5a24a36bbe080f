import { limits } from "@countersign/contract";
import type { Command } from "commander";

const help = `
Prints "listening on http://…" when it serves. SIGTERM, Ctrl-C or a closed terminal ends it in order: what is in flight is
answered, the write queue settled, the embedded database stopped. A second SIGTERM or Ctrl-C ends it at once; nothing that
was answered is lost.

Examples:
  $ countersign serve
  $ PORT=0 COUNTERSIGN_DATA_DIR=/var/lib/countersign countersign serve
  $ DATABASE_URL=postgres://countersign@db/countersign countersign serve`;

const goodbye_ms_max = 500;

/** Adds `serve`. */
export function addServe(program: Command): void {
  program
    .command("serve")
    .description("run the service (settings: docs/configuration.md)")
    .addHelpText("after", help)
    .action(async () => {
      const { readConfig, startService } = await import("@countersign/server");
      const config = readConfig(process.env);
      // From here on: a signal during the start, or the moment after the line below, ends the service in order, too. The
      // start is not cut short for it, and has no time limit; a second signal is for those who cannot wait.
      const signalled = untilSignalled();
      const service = await startService(config);
      // A plain line among the JSON lines of the log: it stands whatever LOG_LEVEL is, for people and for scripts.
      console.log(`listening on ${service.url}`);
      await signalled;
      const late = setTimeout(() => {
        console.error(`countersign: not done after ${limits.shutdown_seconds_max} s, ending anyway`);
        process.exit(1);
      }, limits.shutdown_seconds_max * 1000);
      await service.stop();
      clearTimeout(late);
      // All that is left are connections whose other end does not take our goodbye.
      setTimeout(() => process.exit(), goodbye_ms_max).unref();
    });
}

function untilSignalled(): Promise<void> {
  return new Promise((resolve) => {
    let signals = 0;
    const onSignal = () => {
      signals += 1;
      if (signals > 1) process.exit(1);
      resolve();
    };
    process.on("SIGTERM", onSignal).on("SIGINT", onSignal);
    // Of a terminal that is closed: its shell sends it as well as the system does.
    process.on("SIGHUP", () => resolve());
  });
}
