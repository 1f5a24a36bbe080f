import { join } from "node:path";
import { type Started, start } from "./processes.ts";

export interface ServiceOrder {
  readonly data_dir: string;
  readonly log: string;
  /** Replaces the released packs. */
  readonly packs?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the service as a user does, on embedded PostgreSQL with fsync, but without rate limits. */
export function startService({ data_dir, log, packs, env = {} }: ServiceOrder): Promise<Started> {
  return start({
    command: process.execPath,
    args: [
      "--max-semi-space-size=16",
      join(import.meta.dirname, "service.mjs"),
      ...(packs === undefined ? [] : [packs]),
    ],
    env: {
      PORT: "0",
      HOST: "127.0.0.1",
      COUNTERSIGN_DATA_DIR: data_dir,
      COUNTERSIGN_RATE_LIMITS: "intents=1000000,general=1000000,backtest=1000000,onboarding=1000000",
      ...env,
    },
    log,
    findUrl: (printed) => /^listening on (\S+)/m.exec(printed)?.[1] ?? null,
  });
}
