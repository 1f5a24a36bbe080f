import type { Instance, Verified } from "@countersign/server";
import { type Command, InvalidArgumentError } from "commander";
import { CommandFailed } from "../../command-failed.ts";
import { counted } from "../../counted.ts";
import { organizationNamed, withInstance } from "../../instance.ts";
import { onInterrupt } from "../../interrupt.ts";
import { startPercentProgress } from "../../percent-progress.ts";
import { formatTable } from "../../table.ts";
import type { Terminal } from "../../terminal.ts";

const verify_help = `
Computes the hash of every ledger entry (with intent, facts and decision) and the chain over them. Then rebuilds from the ledger
what decides (keys, membranes, policies, people's roles, freezes, grants, overrides, reviews, claims, counters) and names each row of the
tables that differs. Updates the schema first, and changes nothing else. The service may keep running.
Exit code 1 if something differs.
Anyone with write access to the database could rewrite a whole chain. Keep the printed root elsewhere, and give it with
--expect-root the next time.

Examples:
  $ countersign audit verify
  $ countersign audit verify --org org_01K… --expect-root 3f2a…
  $ countersign audit verify --json | jq '.[] | {org_id, seq, root}'`;

interface VerifyOptions {
  readonly org?: string;
  readonly expectRoot?: string;
  readonly json: boolean;
}

export function addAudit(program: Command, terminal: Terminal): void {
  program
    .command("audit")
    .description("verify the audit trail and the records that it covers")
    .command("verify")
    .description("find changes of past records, and rows that the trail does not explain")
    .option("--org <org_id>", "only this organization (all)")
    .option("--expect-root <hex>", "a root printed earlier, which the trail must contain (with --org)", rootText)
    .option("--json", "print JSON", false)
    .addHelpText("after", verify_help)
    .action((options: VerifyOptions) => {
      if (options.expectRoot !== undefined && options.org === undefined)
        throw new CommandFailed("--expect-root is the root of one organization: name it with --org");
      return withInstance(terminal, (instance) => verify(terminal, instance, options));
    });
}

function rootText(text: string): string {
  if (/^[0-9a-f]{64}$/i.test(text)) return text.toLowerCase();
  throw new InvalidArgumentError("give the 64 hex digits of a root.");
}

async function verify(terminal: Terminal, instance: Instance, { org, expectRoot, json }: VerifyOptions): Promise<void> {
  const organizations =
    org === undefined ? await instance.organizations.list() : [await organizationNamed(instance, org)];
  const found: (Verified & { readonly org_id: string })[] = [];
  const progress = startPercentProgress(terminal.stderr);
  const endInterrupt = onInterrupt(terminal, () => {
    progress.end();
    terminal.printError("countersign: interrupted: the check is incomplete");
    terminal.exit(130);
  });
  try {
    for (const { org_id } of organizations) {
      const report = (done: number, text: string) => progress.report(done, `${org_id}: ${text}`);
      found.push({ org_id, ...(await instance.audit.verify(org_id, expectRoot, report)) });
    }
  } finally {
    progress.end();
    endInterrupt();
  }
  const rows = found.map((each) =>
    each.sound
      ? [each.org_id, String(each.rows), each.root, "sound"]
      : [each.org_id, "seq" in each ? String(each.seq) : "", "", problemText(each)],
  );
  if (json) {
    const shown = found.map((each) => {
      if (!each.sound) return each;
      const { rows: seq, ...rest } = each;
      return { ...rest, seq };
    });
    terminal.print(JSON.stringify(shown, null, 2));
  } else {
    terminal.print(formatTable([["ORGANIZATION", "SEQ", "ROOT", "RESULT"], ...rows], [1]));
    for (const each of found) printDifferences(terminal, each);
  }
  const wrong = found.filter(({ sound }) => !sound).length;
  if (wrong > 0) throw new CommandFailed(`${wrong} of ${found.length} audit trails have problems`);
}

function problemText(found: Extract<Verified, { sound: false }>): string {
  switch (found.problem) {
    case "gap":
    case "rows_missing":
      return `audit record ${found.seq} is missing`;
    case "entry_changed":
      return `the entry of audit record ${found.seq} was changed: its hash differs`;
    case "chain_broken":
      return `the chain up to audit record ${found.seq} gives a root that differs from the stored one`;
    case "erased_in_secret":
      return `the content of audit record ${found.seq} is gone, and no record says who erased it`;
    case "root_unknown":
      return `the trail does not contain the expected root: it was rewritten or cut since, or the root is another organization's (at ${found.seq})`;
    case "differs":
      return `the trail is sound, but ${counted(found.total, "row")} of the tables ${found.total === 1 ? "differs" : "differ"} from it`;
    default:
      return found satisfies never;
  }
}

const problems = {
  changed: "was changed without an entry",
  missing: "is missing",
  unknown: "was made without an entry",
} as const;

function printDifferences(terminal: Terminal, found: Verified & { readonly org_id: string }): void {
  if (found.sound || found.problem !== "differs") return;
  const rows = found.differences.map(({ table, id, problem, columns, seq }) => [
    `${table} ${id}`,
    problems[problem] + (columns.length === 0 ? "" : `: ${columns.join(", ")}`),
    seq === null ? "" : String(seq),
  ]);
  terminal.print(`\n${found.org_id}`);
  terminal.print(formatTable([["ROW", "PROBLEM", "LAST SET BY AUDIT RECORD"], ...rows], [2]));
  const more = found.total - found.differences.length;
  if (more > 0) terminal.print(`and ${counted(more, "more row")}`);
}
