/** The scenarios of `@modelcontextprotocol/conformance` for clients: the official client, with the proxy behind it. */
import type { Outcomes, Pair } from "../outcomes.ts";
import { httpClient } from "../programs.ts";
import type { Through } from "../through.ts";
import { withResults } from "./conformance-server.ts";

/** Without authorization, which is between the client and an authorization server. */
const scenarios = {
  "2025-11-25": [
    "initialize",
    "tools_call",
    "elicitation-sep1034-client-defaults",
    "sse-retry",
    "json-schema-2020-12-preservation",
  ],
  "2026-07-28": [
    "tools_call",
    "request-metadata",
    "sep-2322-client-request-state",
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
  ],
} as const;

type Revision = keyof typeof scenarios;
const revisions = ["2025-11-25", "2026-07-28"] as const;

async function runAll(
  names: readonly string[],
  revision: Revision,
  more: Readonly<Record<string, string>>,
): Promise<Outcomes> {
  const all: Outcomes[] = [];
  for (const scenario of names) {
    const args = ["client", "--command", httpClient.join(" "), "--scenario", scenario, "--spec-version", revision];
    all.push(await withResults(/^/, args, more));
  }
  return new Map(all.flatMap((outcomes) => [...outcomes]));
}

const asText = (name: string, command: readonly string[] | null): Readonly<Record<string, string>> =>
  command === null ? {} : { [name]: JSON.stringify(command) };

const proxyFor = (through: Through) => asText("CONFORMANCE_PROXY", through.proxyOf("SERVER_URL"));
const bridgeFor = (through: Through) => asText("CONFORMANCE_BRIDGE", through.bridgeOf("SERVER_URL"));

export const conformanceOfClients: readonly Pair[] = revisions.flatMap((revision) => [
  {
    name: `conformance, ${revision}, of the v2 client over HTTP`,
    run: (through) => runAll(scenarios[revision], revision, proxyFor(through)),
  },
  {
    name: `conformance, ${revision}, of the v2 client over stdio`,
    run: (through) => runAll(scenarios[revision], revision, bridgeFor(through)),
  },
]);
