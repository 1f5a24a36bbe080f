import { refusalText, serviceAddress, serviceClient } from "../service.ts";
import type { Terminal } from "../terminal.ts";
import { type Finding, ok, onOneLine, problem, reasonOf } from "./finding.ts";

const client_settings = ["COUNTERSIGN_URL", "COUNTERSIGN_API_KEY"] as const;

/** Asks the service that client commands talk to. Nothing if no setting names it. */
export async function checkService(terminal: Pick<Terminal, "env">): Promise<Finding[]> {
  const set = client_settings.filter((name) => (terminal.env[name] ?? "") !== "");
  if (set.length === 0) return [];
  const names = set.join(" and ");
  try {
    const url = serviceAddress(terminal, {});
    await serviceClient(terminal, {}, { retries_max: 0 }).listIntents({ limit: 1 });
    return [ok("service", `${url} answers (${names})`)];
  } catch (error) {
    const text = refusalText(error) ?? reasonOf(error);
    return [problem("service", onOneLine(text), `change ${names}; the commands with --url use it`)];
  }
}
