import { answers } from "../../test/mcp-conformance/answers.ts";
import results from "../../test/mcp-conformance/results.json" with { type: "json" };
import { generatedPage, table } from "./markdown.ts";

export function mcpConformancePage(): string {
  const reasons = [...new Set(answers.map(({ reason }) => reason))];
  return generatedPage(
    "Conformance of the MCP proxy",
    "test/mcp-conformance (`npm run mcp:conformance -- --write` runs it)",
    "For people who put `countersign mcp` between a client and a server that they do not know. A proxy must change nothing but what it decides. " +
      "So `npm run mcp:conformance` runs clients, servers and the official conformance tests twice: directly, and through the proxy. " +
      "It compares what each client saw: results, errors, notifications, and what the checks of the conformance tests found.",
    "## Versions",
    table(
      ["package", "version"],
      Object.entries(results.versions).map(([name, version]) => [`\`${name}\``, version]),
    ),
    "## Results",
    "With rules, a policy blocks one tool, a policy sends one to people, and a policy changes the arguments of one. Otherwise all calls are approved. " +
      "`fixtures` is a server with everything that the conformance tests use, on `@modelcontextprotocol/server`; `bank` is a server with tasks on " +
      "`@modelcontextprotocol/sdk`. The v2 client over stdio starts `countersign mcp --http URL`; directly it goes to the same server over HTTP.",
    table(
      ["client or tool × server", "scenarios", "equal", "governance answers"],
      results.sums.map(({ pair, scenarios, equal, answered }) => [pair, ...[scenarios, equal, answered].map(String)]),
    ),
    "## Where governance answers",
    reasons.map((reason) => `- ${reason}`).join("\n"),
    "## Not compared",
    "- The conformance tests speak only HTTP. Over standard input and output they reach the server through a small bridge, so scenarios about HTTP " +
      "itself run only over HTTP.\n" +
      "- In scenarios about HTTP itself, the checks are compared, and not the numbers of events and the words of refusals.\n" +
      "- Scenarios of authorization are between the client and an authorization server. Scenarios of extensions need servers with these extensions.",
  );
}
