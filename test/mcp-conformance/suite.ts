/** Runs pairs without and with the proxy. */
import { answers, with_rules } from "./answers.ts";
import { compare, type Outcomes, type Pair, type Row } from "./outcomes.ts";
import { clientPairs } from "./pairs/clients.ts";
import { conformanceOfClients } from "./pairs/conformance-client.ts";
import { conformanceOverHttp, conformanceOverStdio } from "./pairs/conformance-server.ts";
import { inspectorPairs } from "./pairs/inspector.ts";
import type { Accesses } from "./service.ts";
import { direct, governed } from "./through.ts";

export const pairs: readonly Pair[] = [
  ...conformanceOverStdio,
  ...conformanceOverHttp,
  ...conformanceOfClients,
  ...clientPairs,
  ...inspectorPairs,
];

/** Pairs that run a second time, with rules: both revisions, over both transports. */
const ruledPairs: ReadonlySet<string> = new Set([
  "conformance, 2025-11-25 × fixtures over stdio",
  "conformance, 2025-11-25 × fixtures over HTTP",
  "v1 client, 2025-11-25 × fixtures",
  "v2 client, 2026-07-28 × fixtures",
]);

/** Runs one pair without the proxy, with a proxy that approves everything, and with one that has rules. */
export async function* rowsOf(pair: Pair, { approving, ruling }: Accesses): AsyncGenerator<Row[]> {
  const plain: Outcomes = await pair.run(direct);
  yield compare(pair.name, plain, await pair.run(governed(approving)), answers);
  if (!ruledPairs.has(pair.name)) return;
  const ruled = await pair.run(governed(ruling, ["--wait", "1"]));
  yield compare(`${pair.name}${with_rules}`, plain, ruled, answers);
}
