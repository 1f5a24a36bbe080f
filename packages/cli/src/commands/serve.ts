import { limits } from "@countersign/contract";
import type { Config } from "@countersign/server";
import type { Command } from "commander";
import { onInterrupt } from "../interrupt.ts";
import type { Terminal } from "../terminal.ts";

const help = `
Prints "listening on http://…" when it serves. SIGTERM, Ctrl-C or a closed terminal ends it in order: what is in flight is
answered, the write queue settled, the embedded database stopped. A second signal, two seconds later or more, ends it at once;
nothing that was answered is lost. With COUNTERSIGN_DRAIN_SECONDS the service first goes on for so long, while /readyz is 503.
With COUNTERSIGN_WORKERS several processes serve. One that crashes is replaced; SIGUSR2 replaces all, one after another.

Examples:
  $ countersign serve
  $ PORT=0 COUNTERSIGN_DATA_DIR=/var/lib/countersign countersign serve
  $ DATABASE_URL=postgres://countersign@db/countersign countersign serve`;

const goodbye_ms_max = 500;

/** Adds `serve`. */
export function addServe(program: Command, terminal: Terminal): void {
  program
    .command("serve")
    .description("run the service (settings: docs/reference/configuration.md)")
    .addHelpText("after", help)
    .action(() => serve(terminal));
}

async function serve(terminal: Terminal): Promise<void> {
  const { isWorker, readConfig, startService, startSupervisor, workersOf } = await import("@countersign/server");
  const config = readConfig(terminal.env);
  if (isWorker()) return serveAsWorker(terminal, config);
  // From here on: a signal during the start, or the moment after the line below, ends the service in order, too. The
  // start is not cut short for it, and has no time limit; a later signal is for those who cannot wait.
  const signalled = new Promise<void>((resolve) => {
    onInterrupt(terminal, resolve);
  });
  const workers = workersOf(config);
  let restart: (() => Promise<void>) | null = null;
  terminal.signals.on("SIGUSR2", () => {
    if (workers === 1) terminal.printError("countersign: SIGUSR2 replaces workers, and this service has none");
    // During the start the workers are new anyway.
    void restart?.();
  });
  const supervised = workers > 1 ? await startSupervisor(config, workers) : null;
  restart = supervised?.restart ?? null;
  const service = supervised ?? (await startService(config));
  // A plain line among the JSON lines of the log: it stands whatever LOG_LEVEL is, for people and for scripts.
  terminal.print(`listening on ${service.url}`);
  await signalled;
  await endInTime(terminal, config, service);
  // What is left now are connections that the other end does not close.
  setTimeout(() => terminal.exit(), goodbye_ms_max).unref();
}

/** A worker ends when its supervisor says so, or is gone. Signals are for the supervisor, but a terminal sends them to all. */
async function serveAsWorker(terminal: Terminal, config: Config): Promise<void> {
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP", "SIGUSR2"]) terminal.signals.on(name, () => undefined);
  const { meetSupervisor, startService } = await import("@countersign/server");
  const supervised = await meetSupervisor();
  try {
    const service = await startService(config, undefined, { supervised });
    supervised.listening(service.url);
    const { drains } = await supervised.stopped;
    await endInTime(terminal, config, { stop: () => service.stop(drains) });
    supervised.leave();
  } finally {
    // Also where the start was refused: the channel to the supervisor keeps a process alive.
    setTimeout(() => terminal.exit(), goodbye_ms_max).unref();
  }
}

async function endInTime(terminal: Terminal, config: Config, service: { stop(): Promise<void> }): Promise<void> {
  const seconds_max = config.drain_seconds + limits.shutdown_seconds_max;
  const late = setTimeout(() => {
    terminal.printError(`countersign: not done after ${seconds_max} s, ending anyway`);
    terminal.exit(1);
  }, seconds_max * 1000);
  await service.stop();
  clearTimeout(late);
}
