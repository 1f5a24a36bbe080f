import { limits } from "@countersign/contract";
import type { Config } from "@countersign/server";
import type { Command } from "commander";
import { onInterrupt } from "../interrupt.ts";
import type { Terminal } from "../terminal.ts";

const help = `
Prints "listening on http://…" when it serves. SIGTERM, Ctrl-C or a closed terminal ends it in order: it answers open requests,
empties the write queue, and stops the embedded database. A second signal, at least two seconds later, ends it at once. No answered
decision is lost. With COUNTERSIGN_DRAIN_SECONDS it first serves for that time, while /readyz is 503.
With COUNTERSIGN_WORKERS several processes serve. A crashed one is replaced; SIGUSR2 replaces all, one after another.

Examples:
  $ countersign serve
  $ PORT=0 COUNTERSIGN_DATA_DIR=/var/lib/countersign countersign serve
  $ DATABASE_URL=postgres://countersign@db/countersign countersign serve`;

const goodbye_ms_max = 500;

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
  // From here on, a signal stops the service in order, even during its start, which may take any time. A second signal
  // ends the process at once.
  const signalled = new Promise<void>((resolve) => {
    onInterrupt(terminal, resolve);
  });
  const workers = workersOf(config);
  let restart: (() => Promise<void>) | null = null;
  terminal.signals.on("SIGUSR2", () => {
    if (workers === 1) terminal.printError("countersign: SIGUSR2 replaces workers, and this service has none");
    // During the start there are no old workers to replace.
    void restart?.();
  });
  const supervised = workers > 1 ? await startSupervisor(config, workers) : null;
  restart = supervised?.restart ?? null;
  const service = supervised ?? (await startService(config));
  // A plain line at any LOG_LEVEL, for people and scripts.
  terminal.print(`listening on ${service.url}`);
  await signalled;
  await endInTime(terminal, config, service);
  // Only connections that the other end keeps open remain.
  setTimeout(() => terminal.exit(), goodbye_ms_max).unref();
}

/**
 * Serves until the supervisor asks to stop or is gone. Ignores signals, because a terminal sends them to every process.
 */
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
    // Also after a refused start, because the channel to the supervisor keeps the process alive.
    setTimeout(() => terminal.exit(), goodbye_ms_max).unref();
  }
}

async function endInTime(terminal: Terminal, config: Config, service: { stop(): Promise<void> }): Promise<void> {
  const seconds_max = config.drain_seconds + limits.shutdown_seconds_max;
  const late = setTimeout(() => {
    terminal.printError(`countersign: not done after ${seconds_max} s, ending the process`);
    terminal.exit(1);
  }, seconds_max * 1000);
  await service.stop();
  clearTimeout(late);
}
