/**
 * Cerbos as the stateless comparison: the same conditions, without audit log, authentication and storage. Downloads its
 * pinned binary (npm) to node_modules/.cache.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { LoadRequest } from "./load.ts";
import { type BenchPolicy, benchFacts, benchPolicies, measured_action, payments } from "./policies.ts";
import { type Started, start } from "./processes.ts";

const version = "0.55.0";
const package_name = `@cerbos/cerbos-${process.platform}-${process.arch}`;

export const cerbos_version = `Cerbos ${version}`;

function binary(): string {
  const cache = join(import.meta.dirname, "../../node_modules/.cache/countersign-bench");
  const path = join(cache, "node_modules", package_name, `cerbos-${process.platform}-${process.arch}`);
  if (!existsSync(path)) {
    mkdirSync(cache, { recursive: true });
    if (!existsSync(join(cache, "package.json"))) writeFileSync(join(cache, "package.json"), '{"private":true}');
    execFileSync("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", `${package_name}@${version}`], {
      cwd: cache,
    });
  }
  return path;
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

const resourceOf = (action: string) => action.replace(".", "_");

function condition(policy: BenchPolicy): string {
  return policy.when.replaceAll(/\b(params|facts)\./g, "R.attr.$1.");
}

function writePolicies(directory: string): void {
  mkdirSync(directory, { recursive: true });
  for (const action of new Set(benchPolicies.map((policy) => policy.action))) {
    const rules = benchPolicies
      .filter((policy) => policy.action === action)
      .map((policy) => ({
        name: policy.name,
        actions: [action],
        effect: "EFFECT_DENY",
        roles: ["agent"],
        condition: { match: { expr: condition(policy) } },
      }));
    const allow = { actions: [action], effect: "EFFECT_ALLOW", roles: ["agent"] };
    const resourcePolicy = { version: "default", resource: resourceOf(action), rules: [...rules, allow] };
    const document = { apiVersion: "api.cerbos.dev/v1", resourcePolicy };
    writeFileSync(join(directory, `${resourceOf(action)}.json`), JSON.stringify(document, null, 2));
  }
}

export async function startCerbos(directory: string): Promise<Started> {
  const policies = join(directory, "policies");
  writePolicies(policies);
  const port = await freePort();
  const configuration = {
    server: { httpListenAddr: `127.0.0.1:${port}`, grpcListenAddr: `127.0.0.1:${await freePort()}` },
    storage: { driver: "disk", disk: { directory: policies, watchForChanges: false } },
    audit: { enabled: false },
    telemetry: { disabled: true },
  };
  const file = join(directory, "cerbos.json");
  writeFileSync(file, JSON.stringify(configuration));
  return start({
    command: binary(),
    args: ["server", `--config=${file}`, "--log-level=WARN"],
    log: join(directory, "cerbos.log"),
    findUrl: () => (listens(port) ? `http://127.0.0.1:${port}` : null),
  });
}

/** Reads the kernel's sockets, because Cerbos prints nothing at WARN. */
function listens(port: number): boolean {
  const hex = `:${port.toString(16).toUpperCase().padStart(4, "0")} 00000000:0000 0A`;
  return readFileSync("/proc/net/tcp", "utf8").includes(hex);
}

/** A deny corresponds to a block or an escalation. */
export function cerbosRequests(): LoadRequest[] {
  return payments.map((payment, n) => {
    const resource = {
      kind: resourceOf(measured_action),
      id: `p${n}`,
      attr: { params: payment.params, facts: benchFacts },
    };
    const principal = { id: "billing-agent", roles: ["agent"] };
    const body = { requestId: `r${n}`, principal, resources: [{ actions: [measured_action], resource }] };
    const effect = payment.verdict === "approve" ? "EFFECT_ALLOW" : "EFFECT_DENY";
    return {
      body: JSON.stringify(body),
      expect_status: 200,
      expect_body: `"${measured_action}":"${effect}"`,
      expect_count: 1,
    };
  });
}
