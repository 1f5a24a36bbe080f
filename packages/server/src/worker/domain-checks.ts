import { checkDomains, type DomainChecking } from "../operations/people/domain-proofs.ts";
import type { Runtime } from "../operations/runtime.ts";
import { type Loop, startPasses } from "./passes.ts";

const pass_every_ms = 600_000;

export function startDomainChecks(runtime: DomainChecking & Pick<Runtime, "timers" | "log">): Loop {
  return startPasses(runtime, pass_every_ms, "checking the proofs of domains failed", async (stopped) => {
    while (!stopped() && (await checkDomains(runtime)));
  });
}
