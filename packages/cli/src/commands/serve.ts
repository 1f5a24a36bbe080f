import { limits } from "@countersign/contract";
import type { Command } from "commander";
import { onInterrupt } from "../interrupt.ts";
import type { Terminal } from "../terminal.ts";

const help = `
Prints "listening on http://…" when it serves. SIGTERM, Ctrl-C or a closed terminal ends it in order: what is in flight is
answered, the write queue settled, the embedded database stopped. A second signal, two seconds later or more, ends it at once;
nothing that was answered is lost. With COUNTERSIGN_DRAIN_SECONDS the service first goes on for so long, while /readyz is 503.

Examples:
  $ countersign serve
  $ PORT=0 COUNTERSIGN_DATA_DIR=/var/lib/countersign countersign serve
  $ DATABASE_URL=postgres://countersign@db/countersign countersign serve`;

const goodbye_ms_max = 500;

/** Adds `serve`. */
export function addServe(program: Command, terminal: Terminal): void {
  program
    .command("serve")
    .description("run the service (settings: docs/configuration.md)")
    .addHelpText("after", help)
    .action(async () => {
      const { readConfig, startService } = await import("@countersign/server");
      const config = readConfig(terminal.env);
      // From here on: a signal during the start, or the moment after the line below, ends the service in order, too. The
      // start is not cut short for it, and has no time limit; a later signal is for those who cannot wait.
      const signalled = new Promise<void>((resolve) => {
        onInterrupt(terminal, resolve);
      });
      const service = await startService(config);
      // A plain line among the JSON lines of the log: it stands whatever LOG_LEVEL is, for people and for scripts.
      terminal.print(`listening on ${service.url}`);
      await signalled;
      const seconds_max = config.drain_seconds + limits.shutdown_seconds_max;
      const late = setTimeout(() => {
        terminal.printError(`countersign: not done after ${seconds_max} s, ending anyway`);
        terminal.exit(1);
      }, seconds_max * 1000);
      await service.stop();
      clearTimeout(late);
      // All that is left are connections whose other end does not take our goodbye.
      setTimeout(() => terminal.exit(), goodbye_ms_max).unref();
    });
}
