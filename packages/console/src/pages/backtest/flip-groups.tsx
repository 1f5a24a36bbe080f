import type { Backtest } from "@countersign/contract";
import { Link } from "@tanstack/react-router";
import { moneyText } from "../../parts/money.ts";
import { VerdictBadge } from "../../parts/records/badge.tsx";
import { Data } from "../../parts/tables/data.tsx";
import { ListTable } from "../../parts/tables/list-table.tsx";

/** Verdicts that would change, by the rules behind them. */
export function FlipGroups({ groups }: { readonly groups: Backtest["flip_groups"] }) {
  return (
    <ListTable heads={["Rules", "Recorded", "Candidate", "Examples", "Amount", "Actions"]} numbers={2}>
      {groups.map((group) => (
        <tr key={JSON.stringify([group.policies, group.from, group.to])}>
          <td>
            {group.policies.length === 0 ? (
              <span className="muted">no rule, or one of many</span>
            ) : (
              <Data text={group.policies.join(", ")} chars_max={200} />
            )}
          </td>
          <td>
            <VerdictBadge verdict={group.from} />
          </td>
          <td>
            <VerdictBadge verdict={group.to} />
          </td>
          <td>
            <span className="row">
              {group.examples.map((intent_id, at) => (
                <Link key={intent_id} to="/decisions/$intent_id" params={{ intent_id }}>
                  {at + 1}
                  <span className="sr">{` ${intent_id}`}</span>
                </Link>
              ))}
            </span>
          </td>
          <td className="num">{group.amount_usd === 0 ? "–" : moneyText(group.amount_usd)}</td>
          <td className="num">{group.count.toLocaleString("en")}</td>
        </tr>
      ))}
    </ListTable>
  );
}
