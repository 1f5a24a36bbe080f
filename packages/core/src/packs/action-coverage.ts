import { actionTypes, dataClasses } from "@countersign/contract";
import { namingRules } from "../policy/check/naming-rules.ts";
import type { PolicyDocument } from "../policy/document.ts";
import { finish } from "../policy/expressions.ts";
import { expressionsIn } from "../policy/expressions-in.ts";
import { namesOf, nodesOf } from "../policy/nodes-of.ts";

type Readers = ReadonlyMap<string, readonly string[]>;

export interface ActionCoverage {
  /** By action type, in contract order: rules that are evaluated for it and name it or a prefix. */
  readonly types: Readers;
  /** By data class: the contract's in order, then others. */
  readonly classes: Readers;
  /** By parameter, sorted. */
  readonly params: Readers;
}

/** Rules without a type may apply to all types. */
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
    const seen = seenBy(rule);
    for (const [found, into] of [[seen.classes, classes] as const, [seen.params, params] as const])
      for (const name of found) into.set(name, [...(into.get(name) ?? []), rule.metadata.name]);
  }
  for (const readers of [...classes.values(), ...params.values()]) readers.sort();
  const types = new Map(known.map((type, place) => [type, naming[place] ?? []]));
  return { types, classes, params: new Map([...params].sort(([a], [b]) => (a < b ? -1 : 1))) };
};

const seenBy = (rule: PolicyDocument) => {
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
    "An intent says what it is about in words: `action.type`, `data_classes`, and the names of its parameters in",
    "`payload.content`. Rules go by them. **A type or a class in words of your own (`payments.transfer`, `PII`) is allowed, but no",
    "rule of a pack knows it**: what it should have held is approved. So use the words below where they fit.",
    "",
    "An agent can be wrong about itself, or lie. A membrane's `action_catalogue` (`PATCH /v1/membranes/{membrane_id}`, or",
    '"Known tools" in the console) says once for all which tool is what, as `{verb, type, data_classes, parameters}`, and overrules what an agent declares. `POST /v1/onboarding/intake`',
    "proposes one from a description and your list of tools. A verb that no catalogue knows, without a declared type, is",
    "`other.unclassified`. A verb that only looks like one of the catalogue, such as `send-money` for `send_money`, is",
    "[unknown to the rules](policies.md#names-that-look-alike) about the known one. If both are tools, enter both.",
    "",
    '`parameters` are the JSON types that the tool\'s input schema gives its parameters, such as `{"amount": "number"}`. Intake reads them',
    "from the schema. A value of another type is unknown to rules, and so is a comparison with a value of another type: an agent that",
    'sends `"true"` for a boolean does not slip past a rule that asks for `true`.',
    "",
    "`party` names the parameter that says whom the action pays or serves, such as `payee`. That person cannot be the only approver of",
    "the action ([reviews.md](reviews.md)).",
    "",
    "`GET /v1/membranes/{membrane_id}/coverage`, and the membrane's card in the console, tell what agents asked for in the last 31",
    "days and no rule names. Look at it before going live, and when agents have learnt new tools.",
    "",
    "## Action types",
    "",
    "Rules that name no type stand in no row: they go by data classes, parameters and facts alone.",
    "",
    ...table("`action.type`", types),
    "## Data classes",
    "",
    "In lower case, whatever the spelling that they are sent in.",
    "",
    ...table("`data_classes`", classes),
    "## Parameters",
    "",
    "Of `payload.content`, beside your own.",
    "",
    "| Parameter | Rules that read it |",
    "|---|---|",
    ...[...params].map(([name, names]) => `| \`${name}\` | ${listed(names)} |`),
    "",
  ].join("\n");
};
