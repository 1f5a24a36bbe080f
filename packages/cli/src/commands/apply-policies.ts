import type { Policy, PolicyDiagnostic } from "@countersign/contract";
import { type Client, pagesOf } from "@countersign/sdk";
import { type Command, Option } from "commander";
import { CommandFailed } from "../command-failed.ts";
import { type PolicyFile, readPolicyFiles } from "../policy-documents.ts";
import { findingLine } from "../policy-finding.ts";
import { keyOption, refusalText, type ServiceOptions, serviceClient, strangerText, urlOption } from "../service.ts";
import type { Terminal } from "../terminal.ts";
import { visible } from "../visible.ts";

type Mode = "live" | "shadow";

interface Options extends ServiceOptions {
  readonly activate?: Mode;
  readonly dryRun: boolean;
}

const help = `
FILE is a policy document in YAML or JSON. The command matches documents to policies by name. A new name becomes a new policy, a
changed document a new version, and an unchanged one is skipped. If a document has errors or a failed test, nothing is saved.
Active versions stay active until you activate others (--activate). You need a key of role admin, or for a dry run a key that may
read policies.

Examples:
  $ countersign policies apply wires.yaml
  $ countersign policies apply policies/*.yaml --dry-run
  $ countersign policies apply policies/*.yaml --activate shadow

Exit code: 0 if all policies match the files, 1 otherwise. After a failure the command prints what it did. Run the same command
to continue.`;

export function addApply(policies: Command, terminal: Terminal): void {
  policies
    .command("apply")
    .description("save policy documents in a running service, and activate them")
    .argument("<file...>")
    .addOption(urlOption())
    .addOption(keyOption())
    .addOption(
      new Option("--activate <mode>", "activate the policies of the files in this mode").choices(["live", "shadow"]),
    )
    .option("--dry-run", "show what would be done, and do nothing", false)
    .addHelpText("after", help)
    .action((files: string[], options: Options) => apply(terminal, files, options));
}

async function apply(terminal: Terminal, files: readonly string[], options: Options): Promise<void> {
  const documents = await readPolicyFiles(files, true);
  refuseSameNames(documents);
  for (const line of documents.flatMap(({ warnings }) => warnings)) terminal.printError(line);
  const client = serviceClient(terminal, options);
  const steps = await answered(() => plan(client, documents, options.activate ?? null));
  for (const step of steps) {
    if (!options.dryRun)
      for (const each of await answered(() => carryOut(client, step), step.file))
        terminal.printError(findingLine(step.file, "warning", each));
    terminal.print(visible(`${step.file}: ${step.name} ${resultOf(step, options.dryRun)}`));
  }
  const count = (save: Step["save"]) => steps.filter((step) => step.save === save).length;
  const changes = `${count("create")} new, ${count("replace")} changed, ${count("none")} unchanged`;
  terminal.print(`${steps.length} ${steps.length === 1 ? "policy" : "policies"}: ${changes}`);
}

interface Step extends Pick<PolicyFile, "file" | "document"> {
  readonly name: string;
  readonly policy: Policy | null;
  readonly save: "create" | "replace" | "none";
  readonly version: number;
  /** Null if the mode is already active or not requested. */
  readonly activate: Mode | null;
}

function refuseSameNames(documents: readonly PolicyFile[]): void {
  const seen = new Map<string, string>();
  for (const { file, document } of documents) {
    const { name } = document.metadata;
    const other = seen.get(name);
    if (other !== undefined) throw new CommandFailed(`${other} and ${file} are both the policy ${name}`);
    seen.set(name, file);
  }
}

async function plan(client: Client, documents: readonly PolicyFile[], mode: Mode | null): Promise<Step[]> {
  const { policySha256 } = await import("@countersign/core");
  const known = await policiesByName(client);
  return documents.map(({ file, document }): Step => {
    const { name } = document.metadata;
    const policy = known.get(name) ?? null;
    if (policy === null) return { file, document, name, policy, save: "create", version: 1, activate: mode };
    if (policy.status === "retired")
      throw new CommandFailed(`${file}: the policy ${name} is permanently retired: give the document another name`);
    const same = policy.sha256 === policySha256(document);
    const version = same ? policy.version : policy.version + 1;
    const inForce = policy.status === mode && policy.active_version === version;
    return { file, document, name, policy, save: same ? "none" : "replace", version, activate: inForce ? null : mode };
  });
}

async function policiesByName(client: Client): Promise<Map<string, Policy>> {
  const known = new Map<string, Policy>();
  for await (const page of pagesOf((place) => client.listPolicies({ limit: 200, ...place }))) {
    if (!Array.isArray(page?.policies)) throw new CommandFailed(strangerText(""));
    for (const policy of page.policies) known.set(policy.name, policy);
  }
  return known;
}

/**
 * Saves and activates as planned, and returns the service's warnings. Activates its own version, because someone else
 * may save another.
 */
async function carryOut(
  client: Client,
  { policy, document, save, version, activate }: Step,
): Promise<readonly PolicyDiagnostic[]> {
  const input = { policy: { ...document } };
  let policy_id = policy?.policy_id;
  if (policy_id === undefined) policy_id = (await client.createPolicy(input)).policy_id;
  else if (save === "replace") await client.replacePolicy(policy_id, input);
  return activate === null ? [] : (await client.activatePolicy(policy_id, activate, version)).warnings;
}

function resultOf({ policy, save, version, activate }: Step, dryRun: boolean): string {
  const [be, is] = dryRun ? ["would be ", "would be"] : ["", "is"];
  const saved = {
    create: `${be}created as version ${version}`,
    replace: `${be}saved as version ${version}`,
    none: `unchanged, version ${version}`,
  }[save];
  const how = (mode: Mode) => (mode === "live" ? "live" : "in shadow");
  if (activate !== null) return `${saved}, and ${is} ${how(activate)}`;
  if (policy === null || policy.active_version === null) return `${saved}, a draft`;
  const inForce = how(policy.status === "live" ? "live" : "shadow");
  return `${saved}, ${policy.active_version === version ? "" : `version ${policy.active_version} `}${inForce}`;
}

/** Adds the file to the service's error. */
async function answered<T>(ask: () => Promise<T>, file?: string): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    const text = refusalText(error);
    throw text === null ? error : new CommandFailed(file === undefined ? text : `${file}: ${text}`);
  }
}
