import fc from "fast-check";
import prototypes from "unhomoglyph/data.json" with { type: "json" };
import { expect, test } from "vitest";
import { runs } from "../../../../scripts/property-runs.ts";
import { decide, judge } from "../../src/deciding/decide.ts";
import { goesThrough } from "../../src/deciding/decision.ts";
import { bareReasons } from "../../src/deciding/reasons.ts";
import { inputOf, type TestCase, type TestPolicy } from "../../src/testing/deciding.ts";

const verbs = ["send_money", "deleteUser", "read-mail", "export list"];
const agents = ["invoice-bot", "Ledger_1"];
const targets = ["prod-db", "main.ledger"];

const condition = fc.constantFrom(
  "true",
  "params.x > 4",
  'action.verb == "send_money"',
  'action.verb in ["deleteUser", "read-mail"]',
  'action.verb.startsWith("send_") || params.x > 4',
  'action.type == "payment.transfer"',
  '"chd" in data_classes',
  'agent.id == "invoice-bot" && params.x < 9',
  'target.identifier == "prod-db"',
  'target.identifier != "main.ledger"',
  "vars.tool == 'read-mail'",
);
const patterns = (of: readonly string[]) => fc.option(fc.subarray([...of], { minLength: 1 }), { nil: undefined });
const match = fc.record({
  actions: patterns(["payment.*", "data.read"]),
  verbs: patterns([...verbs, "read-*"]),
  agents: patterns(agents),
  exclude: fc.option(fc.record({ verbs: fc.subarray(verbs, { minLength: 1 }) }), { nil: undefined }),
});
const names = ["a", "b", "c", "d"];
const spec = fc.record({
  match,
  when: condition,
  require: fc.option(condition, { nil: undefined }),
  effect: fc.constantFrom("block", "escalate", "approve_modified", "none"),
  on_unknown: fc.constantFrom(undefined, "fire", "escalate", "block", "skip"),
  risk: fc.record({ add: fc.constantFrom(0.2, 0.5, 0.8) }),
  modify: fc.constantFrom(
    [{ op: "cap", path: "/x", value: "5.0" }],
    [{ op: "set", path: "/x", value: 'action.verb == "send_money" ? 1.0 : 8.0' }],
    [{ op: "remove", path: "/y" }],
  ),
  modify_when: fc.option(condition, { nil: undefined }),
  suppresses: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 2 }),
});

const isDefined = ([, value]: [string, unknown]) => value !== undefined;
const defined = (given: object): Record<string, unknown> => Object.fromEntries(Object.entries(given).filter(isDefined));

function policy(
  name: string,
  { match: matched, modify, modify_when, suppresses, ...given }: Record<string, unknown>,
): TestPolicy {
  const modifies = given["effect"] === "approve_modified" || (modify_when !== undefined && given["effect"] !== "none");
  const others = (suppresses as string[]).filter((other) => other !== name);
  const variables = [{ name: "tool", expr: "action.verb" }];
  const changes = modifies
    ? { modify, modify_when: given["effect"] === "approve_modified" ? undefined : modify_when }
    : {};
  return {
    name,
    spec: defined({ ...given, ...changes, match: defined(matched as object), suppresses: others, variables }),
  };
}

const policies = fc
  .array(spec, { minLength: 1, maxLength: names.length })
  .map((specs) => specs.map((each, index) => policy(names[index] as string, each)));

const membrane: fc.Arbitrary<NonNullable<TestCase["membrane"]>> = fc.record({
  thresholds: fc.record({ escalate_at: fc.constantFrom(null, 0.4), block_at: fc.constantFrom(null, 0.7) }),
  action_catalogue: fc.constant(
    verbs.map((verb, index) => ({
      verb,
      type: index % 2 === 0 ? "payment.transfer" : "data.export",
      data_classes: ["chd"],
    })),
  ),
});

/** Unicode letters that look like each letter. */
const alike = new Map<string, string[]>();
for (const [char, prototype] of Object.entries(prototypes))
  if (/^\p{L}$/u.test(char) && char.normalize("NFKC") === char)
    alike.set(prototype, [...(alike.get(prototype) ?? []), char]);
const separators = ["_", "-", ".", " ", "/", ":", "\u2014", "\u00b7", "__", ""];

function likeOf(name: string): fc.Arbitrary<string> {
  const characters = Array.from(name, (char, at) => {
    if (/[^A-Za-z0-9]/.test(char)) return fc.constantFrom(...separators, char);
    const others = [...(alike.get(char) ?? []), ...(alike.get(char.toUpperCase()) ?? [])];
    const inserted = at > 0 && !/\d/.test(char) ? [`-${char}`] : [];
    return fc.oneof({ weight: 4, arbitrary: fc.constant(char) }, fc.constantFrom(char, ...others, ...inserted));
  });
  return fc.tuple(...characters).map((written) => written.join(""));
}

const action = fc.record({
  verb: fc.constantFrom(...verbs),
  agent: fc.constantFrom(...agents, "nobody"),
  identifier: fc.constantFrom(...targets),
  type: fc.constantFrom("data.read", "payment.refund", undefined),
  x: fc.constantFrom<unknown>(2, 6, "6"),
});
const asked = action.chain((known) =>
  fc.record({
    known: fc.constant(known),
    verb: likeOf(known.verb),
    agent: fc.oneof(fc.constant(known.agent), likeOf(known.agent)),
    identifier: fc.oneof(fc.constant(known.identifier), likeOf(known.identifier)),
  }),
);

test("replacing letters or separators of a known name by look-alikes never releases a stopped action", () => {
  const stopped = { known: 0, alike: 0 };
  fc.assert(
    fc.property(policies, membrane, asked, (rules, settings, { known, verb, agent, identifier }) => {
      const inputFor = (named: { verb: string; agent: string; identifier: string }) =>
        inputOf(rules, {
          intent: {
            agent: { id: named.agent },
            action: defined({
              type: known.type,
              verb: named.verb,
              target: { type: "db", identifier: named.identifier },
            }),
            content: { x: known.x, y: 1 },
          },
          membrane: settings,
        });
      const as_known = decide(inputFor(known)).content;
      const input = inputFor({ verb, agent, identifier });
      const as_alike = decide(input).content;
      const judged = judge(input);
      expect(judged.conclusion.verdict).toBe(as_alike.verdict);
      const bare = ({ policy: name, effect }: { policy: string; effect: string }) => `${name} ${effect}`;
      expect(bareReasons(judged).map(bare).sort()).toEqual(as_alike.reasons.map(bare).sort());
      if (goesThrough(as_known.verdict)) return;
      stopped.known += 1;
      if (verb !== known.verb) stopped.alike += 1;
      expect(goesThrough(as_alike.verdict)).toBe(false);
    }),
    { numRuns: runs(6_000) },
  );
  expect(stopped.alike).toBeGreaterThan(stopped.known / 10);
});
