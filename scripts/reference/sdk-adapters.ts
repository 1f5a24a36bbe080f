/** The part of the SDK reference about the entries for agent frameworks. */
import { readFileSync } from "node:fs";
import { parseSync } from "oxc-parser";
import { table } from "./markdown.ts";

interface Outcomes {
  /** `approve_modified`: the tool runs with the changed arguments. How the model gets the note about it. */
  readonly changed: string;
  readonly block: string;
  /** `escalate`, with `review: "suspend"`. With `wait`, the call waits in every entry. */
  readonly suspend: string;
  /** The service gives no decision, so the tool does not run. */
  readonly undecided: string;
}

const outcomes: Readonly<Record<string, Outcomes>> = {
  functions: {
    changed: "`notes` beside the result",
    block: '`{ status: "refused", text }`',
    suspend: '`{ status: "suspended", review }`. Call again to resume',
    undecided: "the call throws the client's error",
  },
  "ai-sdk": {
    changed: "a text at the end of the tool's result",
    block: "`execute` throws. With `toolApproval` the call is denied before it runs",
    suspend: "an approval request, which `resume` answers after the review",
    undecided: "as for `block`",
  },
  "openai-agents": {
    changed: "a text at the end of the tool's result",
    block: "the reason is the tool's result",
    suspend: "an interruption, which `resume` approves after the review",
    undecided: "the text of `errorFunction` is the tool's result",
  },
  langchain: {
    changed: "a text at the end of the tool's message",
    block: "the reason is the tool's message, with status `error`",
    suspend: "`interrupt`",
    undecided: "the run ends with the error",
  },
  "claude-agent-sdk": {
    changed: "`additionalContext`",
    block: "`deny` with the reason",
    suspend: "`defer`. Resume the session after the review",
    undecided: "`deny` with the reason",
  },
  mastra: {
    changed: "`countersign_notes` in the result",
    block: "`execute` throws",
    suspend: "`suspend`. Resume the run after the review",
    undecided: "`execute` throws",
  },
};

interface Entry {
  readonly name: string;
  /** Path below packages/sdk/src. */
  readonly path: string;
}

/** Returns the entries for frameworks. */
function entries(sdk: string): Entry[] {
  const { exports } = JSON.parse(readFileSync(`${sdk}../package.json`, "utf8")) as {
    exports: Record<string, { readonly "@countersign/source": string }>;
  };
  return Object.entries(exports).flatMap(([name, { "@countersign/source": source }]) =>
    source.startsWith("./src/adapters/") ? [{ name: name.slice(2), path: source.replace("./src/", "") }] : [],
  );
}

/**
 * Returns the sections. `described` returns the exported declarations of a file as Markdown, with headings of level 3.
 * Throws if an entry has no row in the table of outcomes.
 */
export function adapterSections(sdk: string, described: (path: string) => string[]): string[] {
  const rows = entries(sdk).map(({ name }) => {
    const row = outcomes[name];
    if (row === undefined) throw new Error(`sdk-adapters.ts does not say what @countersign/sdk/${name} does`);
    return [`\`${name}\``, row.changed, row.block, row.suspend, row.undecided];
  });
  return [
    "## Entries for agent frameworks",
    "Each entry guards the tools of one framework ([the guide](../how-to/frameworks.md), [examples](../../examples/README.md)). With `approve` the tool runs " +
      "with its arguments, with `approve_modified` with the changed ones. With `escalate` it waits for reviewers, or the run is suspended. After `block` " +
      "and without a decision it does not run.",
    table(
      [
        "entry",
        "what the model reads after `approve_modified`",
        "`block`",
        '`escalate` with `review: "suspend"`',
        "no decision",
      ],
      rows,
    ),
    "These options and types are the same in all entries:",
    ...described("adapters/tool-gate.ts").filter((text) => /^### (?:GateClient|GateOptions|Review)\n/.test(text)),
    ...entries(sdk).flatMap(({ name, path }) => [
      `## @countersign/sdk/${name}`,
      headOf(readFileSync(`${sdk}${path}`, "utf8"), path),
      ...described(path),
    ]),
  ];
}

/** Returns the comment at the begin of a file. */
export function headOf(source: string, path: string): string {
  const { comments } = parseSync(path, source);
  const head = comments.find(({ start }) => start === 0);
  return (head?.value ?? "")
    .replaceAll(/^\s*\*+ ?/gm, "")
    .replaceAll(/\s*\n\s*/g, " ")
    .trim();
}
