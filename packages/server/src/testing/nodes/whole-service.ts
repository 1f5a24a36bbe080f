import { onTestFinished } from "vitest";
import { createLog } from "../../edge/log.ts";
import { startService } from "../../edge/main.ts";
import { readConfig } from "../../edge/start/config.ts";
import { builtThread } from "./built-thread.ts";
import { sharedPacks } from "./service-node.ts";

/** Runs until the test is done. `printed` returns the log. */
export async function wholeService(env: Readonly<Record<string, string>>) {
  const { PATH = "" } = process.env;
  const config = readConfig({ PATH, HOST: "127.0.0.1", PORT: "0", ...env });
  let text = "";
  const write = (line: string) => {
    text += line;
  };
  const log = createLog(config.log_level, { write });
  const shared = { packs: sharedPacks(), deliveryThread: builtThread("delivery-thread") };
  const service = await startService(config, log, shared);
  let stopped: Promise<void> | undefined;
  const stop = () => (stopped ??= service.stop());
  onTestFinished(stop);
  return { url: service.url, stop, printed: () => text };
}
