import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("../../", import.meta.url));

export async function startService(data_dir: string, settings: Readonly<Record<string, string>> = {}) {
  const child = spawn(process.execPath, [join(root, "scripts/run.mjs"), "start"], {
    cwd: root,
    stdio: ["ignore", "pipe", "inherit"],
    env: {
      ...process.env,
      PORT: "0",
      COUNTERSIGN_DATA_DIR: data_dir,
      COUNTERSIGN_RATE_LIMITS: "intents=100000,general=100000,onboarding=1000",
      LOG_LEVEL: "warn",
      ...settings,
    },
  });
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /listening on (http:\/\/\S+?)["\s]*$/.exec(line)?.[1] ?? /(http:\/\/127\.0\.0\.1:\d+)/.exec(line)?.[1];
    if (url !== undefined)
      return { url, stop: async () => void (child.kill("SIGTERM") && (await once(child, "exit"))) };
  }
  throw new Error("the service did not start");
}
