/** `npm run gen` writes the generated files. `npm run gen -- --check` only lists outdated files (exit 1). */

import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  assuranceMeanings,
  clock_hour_fact,
  deliveryHeaders,
  type ErrorCodeRow,
  type EventField,
  type EventTypeRow,
  errorCodes,
  eventTypes,
  type FactField,
  fact_key_pattern,
  factCategories,
  factMaxAgeSeconds,
  factsFromDefault,
  limits,
  openapiDocument,
  operationRows,
  problemCodes,
  pullFailures,
  rateTable,
  refusalCodes,
  type Setting,
  type SettingFormat,
  settings,
  tokenProblems,
  usStateCodes,
  warningCodes,
} from "@countersign/contract";
import { policySchema } from "@countersign/core";
import { actionsMarkdown, coverageMarkdown } from "../packages/core/src/packs/index.ts";
import { packNames, packOf } from "../packages/core/src/testing/packs.ts";
import { receiptVectorsText } from "../test/evidence/receipt-vectors.ts";
import { lookAlikesModule } from "./look-alikes.ts";
import { pythonContract } from "./python-contract.ts";
import { apiPages } from "./reference/api-pages.ts";
import { cliPage } from "./reference/cli-page.ts";
import { limitsPage } from "./reference/limits-page.ts";
import { table } from "./reference/markdown.ts";
import { mcpConformancePage } from "./reference/mcp-conformance-page.ts";
import { packPages } from "./reference/pack-pages.ts";
import { sdkPage } from "./reference/sdk-page.ts";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const notice = "<!-- Written by `npm run gen` from packages/contract. Change the tables there, not this file. -->";

export function generatedFiles(): ReadonlyMap<string, string> {
  const packs = packNames.map(packOf);
  const rules = packs.flatMap((pack) => pack.rules);
  return new Map([
    ["openapi.json", `${JSON.stringify(openapiDocument(), null, 2)}\n`],
    ["docs/reference/configuration.md", configurationPage()],
    ["docs/reference/errors.md", errorsPage()],
    ["docs/reference/events.md", eventsPage()],
    ["docs/reference/facts.md", factsPage()],
    ["docs/reference/rate-limits.md", rateLimitsPage()],
    ["docs/reference/actions.md", actionsMarkdown(rules)],
    ["docs/reference/fact-coverage.md", coverageMarkdown(packs)],
    ["docs/reference/cli.md", cliPage()],
    ["docs/reference/sdk.md", sdkPage()],
    ["docs/reference/limits.md", limitsPage()],
    ["docs/reference/mcp-conformance.md", mcpConformancePage()],
    ...apiPages(),
    ...packPages(packs, packNames),
    ["test/evidence/vectors/receipts.json", receiptVectorsText()],
    ["packages/console/src/parts/latin-look-alikes.ts", lookAlikesModule()],
    ["clients/python/src/countersign/contract.py", pythonContract()],
    ["docs/reference/policy.schema.json", `${JSON.stringify(publishedPolicySchema(), null, 2)}\n`],
  ]);
}

export function staleFiles(): string[] {
  return [...generatedFiles()]
    .filter(([path, text]) => !existsSync(join(root, path)) || readFileSync(join(root, path), "utf8") !== text)
    .map(([path]) => path);
}

/** Editors check only the form. `countersign policies check` also checks the expressions. */
function publishedPolicySchema(): object {
  const head = { $schema: "https://json-schema.org/draft/2020-12/schema", title: "Countersign policy" };
  return { ...head, ...policySchema };
}

function page(...blocks: readonly string[]): string {
  const [title = "", ...rest] = blocks;
  return `${[title, notice, ...rest].join("\n\n")}\n`;
}

function configurationPage(): string {
  const rows = (Object.values(settings) as Setting[]).map((setting) => [
    `\`${setting.name}\``,
    setting.fallback === null ? "–" : `\`${setting.fallback}\``,
    formatSentence(setting.format),
    setting.meaning,
  ]);
  return page(
    "# Configuration",
    "All settings are environment variables. An empty value counts as unset. A wrong value stops the start with one line " +
      "that names the setting, what it holds and what it takes.",
    `Each secret can come from a file: a variable with \`_FILE\` behind the name of the setting holds the path. These are ${secretSettings()}.`,
    table(["setting", "default", "takes", "meaning"], rows),
  );
}

function secretSettings(): string {
  const names = (Object.values(settings) as Setting[]).flatMap(({ name, secret }) => (secret ? [`\`${name}\``] : []));
  return `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function formatSentence(format: SettingFormat): string {
  switch (format.kind) {
    case "text":
      return "text";
    case "path":
      return "directory";
    case "boolean":
      return "`true` or `false`";
    case "url":
      return `URL: ${format.schemes.map((scheme) => `\`${scheme}:\``).join(", ")}`;
    case "url_list":
      return `URLs separated by spaces: ${format.schemes.map((scheme) => `\`${scheme}:\``).join(", ")}`;
    case "integer":
      return `${format.min} to ${format.max}`;
    case "count_or_auto":
      return `1 to ${format.max}, or \`auto\``;
    case "choice":
      return format.of.map((value) => `\`${value}\``).join(", ");
    case "witness_list":
      return "comma list of witnesses";
    case "cidr_list":
      return "comma list of CIDRs, such as `10.0.0.0/8,fd00::/8`";
    case "base64_bytes":
      return `${format.bytes} bytes as base64`;
    case "base64_list":
      return `comma list of ${format.bytes} bytes each as base64`;
    case "rate_limits":
      return "comma list of `category=requests`";
  }
}

function errorsPage(): string {
  const rows = (Object.entries(errorCodes) as [string, ErrorCodeRow][]).map(([code, row]) => [
    String(row.status),
    `\`${code}\``,
    row.meaning,
    row.advice,
  ]);
  return page(
    "# Errors",
    'Every answer with a status of 400 or more is `{"error": {"code", "message", "details", "request_id"}}`. ' +
      "`request_id` is also in the `X-Request-Id` header. Bytes that are not an HTTP request are answered 400, 408 (it took too long to " +
      "arrive) or 431 (too many or too long headers), with the code `invalid_request`.",
    table(["status", "code", "what happened", "what to do"], rows),
    "## Problems",
    `On a 400, \`details\` holds \`{path, code, message}\` for every problem at once (at most ${limits.error_details_max}; ` +
      `of a body or a batch item above ${limits.problems_collected_bytes_max / 1024} KiB the first problem of its shape only). ` +
      "`path` is a JSON Pointer into the body. The codes:",
    table(
      ["code", "meaning"],
      Object.entries(problemCodes).map(([code, meaning]) => [`\`${code}\``, meaning]),
    ),
    "With `invalid_agent_token` the code says why the token proves nothing ([who needs it](../how-to/verified-identity.md)):",
    table(
      ["code", "meaning"],
      Object.entries(tokenProblems)
        .filter(([code]) => code !== "keys_unreachable")
        .map(([code, meaning]) => [`\`${code}\``, meaning]),
    ),
    "On another status `details` may hold `{path, code, message}`, too: the reason, if the code of the error alone does not say it.",
    table(
      ["status", "code", "meaning"],
      Object.entries(refusalCodes).map(([code, { statuses, meaning }]) => [
        statuses.join(", "),
        `\`${code}\``,
        meaning,
      ]),
    ),
    "On a 422 `policy_invalid` they are the findings in the document, as in POST /v1/policies/check. On a 402 `details` " +
      "holds one `{period, used_actions, hard_limit}`, on a 413 `{body_bytes_max}` or `{values_max}`, on a 429 `{retry_after_seconds}`.",
  );
}

function rateLimitsPage(): string {
  const operations = operationRows.map(([, { method, path, rate }]) => [
    `\`${method} ${path}\``,
    rate === null ? "not limited" : `\`${rate}\``,
  ]);
  return page(
    "# Rate limits",
    "Each operation belongs to one category. The table says how many requests a category allows in any " +
      `${limits.rate_window_seconds} seconds, and for whom it counts them:`,
    rateTable(),
    [
      "- The window slides: a request counts from its arrival until it is " +
        `${limits.rate_window_seconds} seconds old. Capacity comes back request by request.`,
      "- Keys that rotation created from one key share one budget, for any agent.",
      "- A signed-in person has their own budget (decision 0027). An IPv6 client is its /64 network.",
      "- A request in shadow mode counts. A batch counts as one request. An answer 304 does not count. A refused request (429) does not count.",
      "- Every answer of a limited operation has `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` (the Unix second at which the " +
        "oldest counted request leaves the window). A 429 also has `Retry-After` in seconds.",
      "- The operator can set other limits for all (`COUNTERSIGN_RATE_LIMITS`) and for one key (`countersign keys limit`).",
      "- With `REDIS_URL`, all nodes count together. Without it, each node counts on its own.",
    ].join("\n"),
    "## Operations",
    table(["operation", "category"], operations),
  );
}

function eventsPage(): string {
  const rows = (Object.entries(eventTypes) as [string, EventTypeRow][]).map(([name, row]) => [
    `\`${name}\``,
    row.sent_when,
    row.audience === "organization" ? "organization-wide" : "organization-wide, and those that watch this escalation",
  ]);
  return page(
    "# Events",
    "Webhooks get these events as signed HTTPS POST requests.",
    "**`escalation.decided` does not always end a review.** It comes for each reviewer's decision, and a review may need several reviewers. " +
      "While more approvals are needed, `escalation_status` is `pending`, and `data` has `outcome: null` and no `votes`, `quorum`, `panels` and " +
      "`on_timeout`. The action may run only after an event whose `data.resolution.outcome` is `approve` or `approve_modified`.",
    table(["event_type", "sent when", "sent to webhooks that are"], rows),
    "## Headers",
    table(
      ["header", "value"],
      deliveryHeaders.map(({ name, value }) => [`\`${name}\``, value]),
    ),
    `A delivery is attempted ${limits.delivery_attempts_max} times: again ${limits.delivery_wait_1_seconds} seconds after the ` +
      `first failure and ${limits.delivery_wait_2_seconds} seconds after the second. Each attempt waits up to ` +
      `${limits.delivery_attempt_timeout_ms / 1000} seconds for a 2xx. Every attempt sends the stored body, byte for byte.`,
    "`GET /v1/escalations/webhooks/deliveries/failed` lists failed deliveries. You can send them again by hand: a single one by " +
      "`POST …/deliveries/{delivery_id}/retry`, all, page by page, by `POST …/deliveries/failed/retry`.",
    "If a signing secret has leaked, replace it at once by `POST /v1/escalations/webhooks/{webhook_id}/rotate-secret`. Every later " +
      "attempt is signed with the new one. Your receiver refuses these until it knows the new secret; send them again " +
      "by hand. To rotate a secret without a gap, register the same address a second time, let the receiver accept both secrets, and " +
      "delete the first webhook. Until then each event comes twice, as deliveries of their own: their bodies differ in " +
      "`webhook_id` only.",
    ...dataSections(),
    "## Data of escalation events",
    "The whole escalation record as it was at that moment, as `GET /v1/escalations/{escalation_id}` gives it. Only `escalation.decided` " +
      "with `escalation_status: pending` leaves out members (see above).",
    "## Data of a manual retry",
    "The original data, and `original_delivery_id`.",
  );
}

/** Returns a section for each list of fields, titled with all events that have it. */
function dataSections(): string[] {
  const names = new Map<readonly EventField[], string[]>();
  for (const [name, { data }] of Object.entries(eventTypes) as [string, EventTypeRow][])
    if (typeof data !== "string") names.set(data, [...(names.get(data) ?? []), name]);
  return [...names].flatMap(([fields, those]) => [
    `## Data of ${those.join(", ").replace(/, (?=[^,]*$)/, " and ")}`,
    fieldTable(fields),
  ]);
}

function fieldTable(fields: readonly EventField[]): string {
  return table(
    ["field", "type", "meaning"],
    fields.map(({ name, type, meaning }) => [`\`${name}\``, type, meaning]),
  );
}

function factsPage(): string {
  const sections = Object.values(factCategories).flatMap((category) => [
    `## ${category.name}`,
    `Facts about ${category.meaning}. Fresh for ${ageText(category.max_age_seconds)} unless a membrane or policy says otherwise.`,
    table(
      ["fact", "type", "meaning"],
      category.fields.map((field: FactField) => [
        `\`${field.name}\``,
        field.types.join(" or "),
        `${factMeaning(field)}${ownFreshness(`${category.name}.${field.name}`)}`,
      ]),
    ),
  ]);
  const total = Object.values(factCategories).reduce((sum, category) => sum + category.fields.length, 0);
  return page(
    "# Facts",
    `A context document has facts in six categories. ${total} facts are listed here. Each may be null, which means ` +
      `missing. Other keys are stored for your own policies: any key that matches \`${fact_key_pattern}\`, at most ` +
      `${limits.context_keys_per_category_max} per category. Values are not converted: \`"false"\` is not \`false\`.`,
    "`as_of` says per category when the facts were true (an ISO 8601 date-time with time zone, in the extended form: `2026-01-31T10:00:00Z`, `2026-01-31T10:00+0100`). The " +
      "basic form (`20260131T100000Z`), the week form (`2026-W05-6T10:00Z`) and the ordinal form (`2026-031T10:00Z`) are refused with " +
      "`bad_format`, in dates too, because they are rare and easily confused. Without `as_of` the facts count as of their " +
      "receipt. A few facts have a freshness of their own, which is listed with them. Facts that are too old count as missing if they would permit something, and still count if they forbid.",
    ...sections,
    "## Assurance",
    "Each fact of a decision has an assurance: how sure it is, by the way it came. `facts_from` of a membrane says what counts, by " +
      'category or by fact: `{"identity": "attested", "entity_state.account_balance_usd": "stored"}`. `facts_from` of a policy can ask for ' +
      "more. A fact of less assurance is unknown with the reason `untrusted_source` where it would permit something, and still counts where " +
      "it forbids. From least to most:",
    table(
      ["assurance", "the fact was"],
      Object.entries(assuranceMeanings).map(([name, meaning]) => [`\`${name}\``, meaning]),
    ),
    `Membranes made from now on ask for ${listed(
      Object.entries(factsFromDefault).map(([path, assurance]) => `\`${assurance}\` on \`${path}\``),
    )}. Membranes that existed before keep what they have: everything counts. A stored or pulled fact is never replaced by one ` +
      "sent with the action. If facts are stored for another spelling of an agent's id or of a target (letter case, width), they are unknown with the " +
      "reason `other_spelling`, and count where they forbid.",
    "A key of role `host` is for the program around your agents. It is bound to an agent, submits for it, and attests the facts that it sends. " +
      "It cannot decide reviews or administer anything. Keys of role `agent` and `host` get the path, source, assurance and age of stored and pulled facts, and never the value: not in " +
      "facts, reasons or `would_approve_if`. Changed values in `modified_content` are no facts, and agents get them.",
    "## Asked for",
    "The service can also ask for facts: register your endpoint with `PUT /v1/context/source`. Before each decision it gets " +
      'a signed POST of `{"contract_version": "1", "intent"}` and answers with a context document (200) or nothing (204), ' +
      `within ${limits.context_source_timeout_ms_max} ms and ${limits.context_source_answer_bytes_max} bytes. Its facts are ` +
      `the most trusted ones after those of a token ([verified identity](../how-to/verified-identity.md)). An answer is reused for the same intent while its facts are fresh, ` +
      `${limits.context_source_kept_seconds_max} seconds at most. Without an answer the decision is made without these facts; ` +
      "`unknown_facts[].reason` and the audit row `decided` give the reason:",
    table(
      ["reason", "meaning"],
      Object.entries(pullFailures).map(([reason, meaning]) => [`\`${reason}\``, `${meaning}.`]),
    ),
    "## Oddities",
    "`POST /v1/context/validate` also warns about accepted but unusual values:",
    table(
      ["code", "meaning"],
      Object.entries(warningCodes).map(([code, meaning]) => [`\`${code}\``, meaning]),
    ),
    "## State codes",
    `\`recipient_state\` takes, in any case: ${usStateCodes.join(", ")}.`,
  );
}

function listed(texts: readonly string[]): string {
  return texts.length < 2 ? texts.join("") : `${texts.slice(0, -1).join(", ")} and ${texts.at(-1)}`;
}

function factMeaning(field: FactField): string {
  switch (field.constraint?.kind) {
    case "us_state":
      return `${field.meaning} (USPS code)`;
    case "iso_date":
      return `${field.meaning}; a date, or a date-time with time zone`;
    default:
      return field.meaning;
  }
}

function ownFreshness(path: string): string {
  if (path === clock_hour_fact) return "; fresh until the clock strikes the next hour";
  const seconds = factMaxAgeSeconds[path];
  return seconds === undefined ? "" : `; fresh for ${ageText(seconds)}`;
}

function ageText(seconds: number): string {
  if (seconds % 86_400 === 0) return plural(seconds / 86_400, "day");
  return seconds % 3_600 === 0 ? plural(seconds / 3_600, "hour") : plural(seconds / 60, "minute");
}

function plural(count: number, unit: string): string {
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const stale = staleFiles();
  if (process.argv.includes("--check")) {
    for (const path of stale) console.error(`${path} is outdated; run npm run gen`);
    process.exitCode = stale.length === 0 ? 0 : 1;
  } else {
    for (const path of stale) {
      mkdirSync(dirname(join(root, path)), { recursive: true });
      writeFileSync(join(root, path), generatedFiles().get(path) ?? "");
      console.log(`wrote ${path}`);
    }
    if (stale.length === 0) console.log("all generated files are up to date");
  }
}
