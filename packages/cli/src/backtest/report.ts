import type { Backtest } from "@countersign/contract";
import { formatTable } from "../table.ts";

const rows_max = 20;
const name_chars_max = 32;
const count = (n: number) => n.toLocaleString("en-US");
const share = (n: number) => `${(100 * n).toFixed(n === 1 || n === 0 ? 0 : 2)} %`;

function short(name: string): string {
  const characters = [...name];
  return characters.length > name_chars_max ? `${characters.slice(0, name_chars_max - 1).join("")}…` : name;
}

export function reportOf(backtest: Backtest): string {
  const { evaluated, elapsed_ms, reproduced, not_reproduced, escalations_per_day } = backtest;
  const { flips_total, flips, flip_groups, transitions, per_policy, unknown_facts } = backtest;
  const { rulings, agreed, share: agreement, low, high } = backtest.agrees_with_reviewers;
  const parts = [
    `${count(evaluated)} intents in ${(elapsed_ms / 1000).toFixed(1)} s`,
    ...(reproduced === null ? [] : [`${share(reproduced)} of the recorded verdicts were reproduced`]),
    ...(not_reproduced.total === 0 ? [] : [`${count(not_reproduced.total)} could not be replayed as recorded`]),
    `${count(flips_total)} verdicts change`,
    `escalations a day: ${escalations_per_day.recorded} recorded, ${escalations_per_day.candidate} replayed`,
    ...(agreement === null
      ? []
      : [
          `agrees with ${share(agreement)} of people's rulings (${count(agreed)} of ${count(rulings)}; 95 % sure: ${share(low)} to ${share(high)})`,
        ]),
  ];
  const sections = [parts.join("\n")];
  const add = (title: string, head: readonly string[], rows: readonly (readonly string[])[], right: number[] = []) => {
    if (rows.length === 0) return;
    const more = rows.length > rows_max ? `\n… ${count(rows.length - rows_max)} more (--json shows them)` : "";
    sections.push(`${title}\n${formatTable([head, ...rows.slice(0, rows_max)], right)}${more}`);
  };
  add(
    "Not reproduced",
    ["INTENT", "RECORDED", "REPLAYED", "BECAUSE"],
    not_reproduced.intents.map((each) => [each.intent_id, each.recorded, each.replayed ?? "-", each.because]),
  );
  add(
    "Transitions",
    ["FROM", "TO", "INTENTS"],
    transitions.map(({ from, to, count: n }) => [from, to, count(n)]),
    [2],
  );
  add(
    "Changes by rule",
    ["POLICIES", "FROM", "TO", "INTENTS", "USD"],
    flip_groups.map(({ policies, from, to, count: n, amount_usd }) => [
      ...[policies.join(", ") || "-", from, to, count(n), amount_usd.toFixed(2)],
    ]),
    [3, 4],
  );
  add(
    "Flips",
    ["INTENT", "AGENT", "ACTION", "FROM", "TO", "POLICIES"],
    flips.map(({ intent_id, agent_id, action, from, to, policies }) => [
      ...[intent_id, short(agent_id), short(action.verb), from, to],
      policies.join(", "),
    ]),
  );
  add(
    "Policies",
    ["POLICY", "FIRED", "DECISIVE"],
    per_policy.map(({ policy, fired, decisive }) => [policy, count(fired), count(decisive)]),
    [1, 2],
  );
  add(
    "Unknown facts",
    ["FACT", "ASSURANCE", "TIMES"],
    unknown_facts.map(({ path, assurance = "", count: n }) => [path, assurance, count(n)]),
    [2],
  );
  return sections.join("\n\n");
}
