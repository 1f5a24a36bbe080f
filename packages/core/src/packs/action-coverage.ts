import { actionTypes, dataClasses, tool_change_action_type } from "@countersign/contract";
import { namingRules } from "../policy/check/naming-rules.ts";
import type { PolicyDocument } from "../policy/document.ts";
import { finish } from "../policy/expressions.ts";
import { expressionsIn } from "../policy/expressions-in.ts";
import { namesOf, nodesOf } from "../policy/nodes-of.ts";

type Readers = ReadonlyMap<string, readonly string[]>;

export interface ActionCoverage {
  /** For each action type, in the order of the contract: the rules that are evaluated for it and name it or a prefix of it. */
  readonly types: Readers;
  /** For each data class: the rules that name it. Classes of the contract come first, in its order. */
  readonly classes: Readers;
  /** For each parameter, sorted by name: the rules that read it. */
  readonly params: Readers;
}

/** Returns which rules name each action type, data class and parameter. Rules that name no type are in no list of a type. */
export const actionCoverage = (rules: readonly PolicyDocument[]): ActionCoverage => {
  const known = Object.keys(actionTypes);
  const { naming } = finish(
    namingRules(
      rules,
      known.map((type) => ({ type, verb: "", data_classes: [] })),
    ),
  );
  const classes = new Map<string, string[]>(Object.keys(dataClasses).map((name) => [name, []]));
  const params = new Map<string, string[]>();
  for (const rule of rules) {
    const named = namedBy(rule);
    for (const [found, into] of [[named.classes, classes] as const, [named.params, params] as const])
      for (const name of found) into.set(name, [...(into.get(name) ?? []), rule.metadata.name]);
  }
  for (const readers of [...classes.values(), ...params.values()]) readers.sort();
  const types = new Map(known.map((type, place) => [type, naming[place] ?? []]));
  return { types, classes, params: new Map([...params].sort(([a], [b]) => (a < b ? -1 : 1))) };
};

const namedBy = (rule: PolicyDocument) => {
  const classes = new Set<string>();
  const params = new Set<string>();
  for (const node of expressionsIn(rule).flatMap((source) => [...nodesOf(source)])) {
    const [root, name, ...rest] = namesOf(node) ?? [];
    if (root === "params" && name !== undefined && rest.length === 0) params.add(name);
    if (node.kind !== "binary" || node.op !== "in" || node.left.kind !== "literal") continue;
    if (namesOf(node.right)?.join(".") === "data_classes") classes.add(String(node.left.value));
  }
  return { classes, params };
};

/** Writes docs/reference/actions.md. */
export const actionsMarkdown = (rules: readonly PolicyDocument[]): string => {
  const { types, classes, params } = actionCoverage(rules);
  const listed = (readers: readonly string[] = []) => readers.map((name) => `\`${name}\``).join(", ") || "–";
  const meanings: Readonly<Record<string, string>> = { ...actionTypes, ...dataClasses };
  const table = (head: string, readers: Readers): string[] => [
    `| ${head} | Meaning | Rules that name it |`,
    "|---|---|---|",
    ...[...readers].map(([name, names]) => `| \`${name}\` | ${meanings[name] ?? ""} | ${listed(names)} |`),
    "",
  ];
  return [
    "# Actions and the rules that look at them",
    "",
    "Written from `packages/contract` and `packs/` by `npm run gen`; do not edit.",
    "",
    "For engineers who write intents or register the tools of an agent, and for admins who check which rules of the packs apply.",
    "",
    "Rules of the packs recognize an action by three things: `action.type`, `data_classes`, and the names of the parameters in",
    "`payload.content`. **You may use other types and classes, such as `payments.transfer` or `PII`, but no rule of a pack knows them.**",
    "For example, a rule about `payment.transfer` does not hold a `payments.transfer`. So use the names in the tables below where they fit.",
    "",
    "## Register your tools",
    "",
    "An agent can declare a wrong type, by mistake or on purpose. The `action_catalogue` of a membrane says what each tool does, and",
    'replaces what the agent declares. Set it with `PATCH /v1/membranes/{membrane_id}`, or under "Known tools" in the console. An entry:',
    "",
    "| Member | Meaning |",
    "|---|---|",
    "| `verb` | the name of the tool, as agents send it in `action.verb` |",
    "| `type`, `data_classes` | from the tables below |",
    '| `parameters` | the JSON type of each parameter, such as `{"amount": "number"}`, from the input schema of the tool |',
    "| `party` | the parameter that names the person whom the action pays or serves, such as `payee`. That person cannot be the only approver of the action ([Reviews](reviews.md#whom-the-action-is-for)) |",
    "",
    "- `POST /v1/onboarding/intake` proposes entries. It reads a description of your agent and the input schemas of your tools.",
    '- A value of another type than `parameters` says is unknown to rules. So an agent that sends the text `"true"` for a boolean does not',
    "  get past a rule that checks for `true`.",
    "- If a verb is not in the catalogue and the intent declares no type, the type is `other.unclassified`.",
    "- If a verb only resembles one of the catalogue, such as `send-money` for `send_money`, rules about `send_money` are",
    "  [unknown](policies.md#names-that-look-alike) for the action. If both are tools, enter both.",
    "",
    "To find actions that no rule names, call `GET /v1/membranes/{membrane_id}/coverage`, or open the membrane in the console. The answer",
    "covers the last 31 days. Check it before you go live, and when your agents get new tools.",
    "",
    "## Action types",
    "",
    "Rules that name no action type are in no row of this table. They look only at data classes, parameters and facts.",
    "",
    `The service holds each action of the type \`${tool_change_action_type}\` for people, whatever the policies say. \`countersign mcp --pin\` uses it`,
    "([pins](../how-to/mcp.md#pin-the-tools)).",
    "",
    ...table("`action.type`", types),
    "## Data classes",
    "",
    "The service converts data classes to lower case before rules read them.",
    "",
    ...table("`data_classes`", classes),
    "## Parameters",
    "",
    "Parameters of `payload.content` that rules of the packs read. An intent may have any others.",
    "",
    "| Parameter | Rules that read it |",
    "|---|---|",
    ...[...params].map(([name, names]) => `| \`${name}\` | ${listed(names)} |`),
    "",
  ].join("\n");
};
